#include "base/status.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"

namespace dpledger {
namespace {

// Payload: "reason\0key\0value\0key\0value", in process only.
constexpr absl::string_view kPayloadUrl = "dpledger/error-reason";
constexpr char kFieldKey[] = "field";
constexpr char kDelayKey[] = "retry_after_seconds";

}  // namespace

absl::Status WithReason(absl::Status status, const ErrorReason& reason) {
  std::string payload = reason.reason;
  for (const auto& [key, value] : reason.metadata) {
    for (const std::string& part : {key, value}) {
      payload.push_back('\0');
      payload.append(part);
    }
  }
  status.SetPayload(kPayloadUrl, absl::Cord(payload));
  return status;
}

ErrorReason ReasonOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return {};
  const std::vector<std::string> parts = absl::StrSplit(std::string(*payload), '\0');
  ErrorReason reason{parts[0], {}};
  for (size_t i = 1; i + 1 < parts.size(); i += 2) reason.metadata[parts[i]] = parts[i + 1];
  return reason;
}

absl::Status RetryAfter(const absl::Status& status, std::string_view reason, absl::Duration delay) {
  const int64_t seconds = absl::ToInt64Seconds(absl::Ceil(delay, absl::Seconds(1)));
  return WithReason(
      absl::Status(status.code(), absl::StrCat(status.message(), "; try again in ", seconds, " s")),
      {std::string(reason), {{kDelayKey, absl::StrCat(seconds)}}});
}

absl::Duration RetryDelayOf(const ErrorReason& reason) {
  const auto delay = reason.metadata.find(kDelayKey);
  int64_t seconds = 0;
  if (delay == reason.metadata.end() || !absl::SimpleAtoi(delay->second, &seconds))
    return absl::ZeroDuration();
  return absl::Seconds(seconds);
}

absl::Status FieldError(std::string_view field, std::string_view rule) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat(ToAbsl(field), ": ", ToAbsl(rule))),
                    {"INVALID_FIELD", {{kFieldKey, std::string(field)}}});
}

absl::Status PrefixField(std::string_view prefix, const absl::Status& status) {
  const ErrorReason reason = ReasonOf(status);
  const auto field = reason.metadata.find(kFieldKey);
  if (field == reason.metadata.end() ||
      !absl::StartsWith(status.message(), absl::StrCat(field->second, ": "))) {
    return status;
  }
  const char* const dot = absl::StartsWith(field->second, "[") || field->second.empty() ? "" : ".";
  ErrorReason prefixed = reason;
  prefixed.metadata[kFieldKey] = absl::StrCat(ToAbsl(prefix), dot, field->second);
  return WithReason(
      absl::Status(status.code(), absl::StrCat(ToAbsl(prefix), dot, status.message())), prefixed);
}

}  // namespace dpledger
