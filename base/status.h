// Errors are absl::Status values. This header adds the two macros that pass them on, and the form
// of this project's own errors: a code, a reason for programs (UPPER_SNAKE_CASE), and metadata such
// as the wrong field.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace dpledger {

// What a program needs to act on an error; becomes google.rpc.ErrorInfo on the wire.
struct ErrorReason {
  std::string reason;                           // e.g. "SEQUENCE_MISMATCH"
  std::map<std::string, std::string> metadata;  // e.g. {"current_sequence", "17"}
};

absl::Status WithReason(absl::Status status, const ErrorReason& reason);
// Empty reason if `status` carries none.
ErrorReason ReasonOf(const absl::Status& status);

// RESOURCE_EXHAUSTED or UNAVAILABLE that passes: adds "; try again in N s" to the message, and the
// delay to the metadata, whence doors make a google.rpc.RetryInfo of it.
absl::Status RetryAfter(const absl::Status& status, std::string_view reason, absl::Duration delay);
// Zero if `reason` has none.
absl::Duration RetryDelayOf(const ErrorReason& reason);

// INVALID_ARGUMENT "<field>: <rule>", reason INVALID_FIELD, metadata {field}.
// `rule` says what must hold and what was given: "must be finite and > 0, got -1".
absl::Status FieldError(std::string_view field, std::string_view rule);

// Puts "<prefix>." (or "<prefix>" before a "[") before the field of a FieldError, in its message
// and its metadata. Returns other statuses unchanged.
absl::Status PrefixField(std::string_view prefix, const absl::Status& status);

}  // namespace dpledger

#define DPLEDGER_CONCAT_INNER_(a, b) a##b
#define DPLEDGER_CONCAT_(a, b) DPLEDGER_CONCAT_INNER_(a, b)

#define RETURN_IF_ERROR(expr)                                                                      \
  do {                                                                                             \
    if (::absl::Status dpledger_status_ = (expr); !dpledger_status_.ok()) return dpledger_status_; \
  } while (false)

#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_IMPL_(DPLEDGER_CONCAT_(dpledger_statusor_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL_(var, lhs, expr)   \
  auto var = (expr);                             \
  if (!var.ok()) return std::move(var).status(); \
  lhs = *std::move(var)
