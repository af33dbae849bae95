#include "client/c/error.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::client::c {

dpledger_status Report(dpledger_status status, const char* message,
                       dpledger_error* error) noexcept {
  if (error == nullptr) return status;
  error->status = status;
  error->lost = false;
  error->field.clear();
  error->reason.clear();
  try {
    error->message = message;
  } catch (const std::exception&) {
    error->lost = true;
  }
  return status;
}

dpledger_status Report(const absl::Status& status, dpledger_error* error) noexcept {
  const auto code = static_cast<dpledger_status>(status.code());
  Report(code, "", error);
  if (error == nullptr || status.ok()) return code;
  try {
    error->message = std::string(status.message());
    ErrorReason reason = ReasonOf(status);
    error->reason = std::move(reason.reason);
    error->field = std::move(reason.metadata["field"]);
  } catch (const std::exception&) {
    error->lost = true;
  }
  return code;
}

absl::Status CheckGiven(const void* pointer, const char* name) {
  return pointer != nullptr ? absl::OkStatus() : FieldError(name, "must not be NULL");
}

absl::Status CheckCount(size_t needed, size_t count) {
  if (count == needed) return absl::OkStatus();
  return FieldError("count", absl::StrCat("must be ", needed, ", got ", count));
}

}  // namespace dpledger::client::c

extern "C" {

uint32_t dpledger_abi_version(void) { return DPLEDGER_ABI_MAJOR << 16 | DPLEDGER_ABI_MINOR; }

const char* dpledger_status_name(dpledger_status status) {
  static constexpr const char* kNames[] = {
      "OK",
      "CANCELLED",
      "UNKNOWN",
      "INVALID_ARGUMENT",
      "DEADLINE_EXCEEDED",
      "NOT_FOUND",
      "ALREADY_EXISTS",
      "PERMISSION_DENIED",
      "RESOURCE_EXHAUSTED",
      "FAILED_PRECONDITION",
      "ABORTED",
      "OUT_OF_RANGE",
      "UNIMPLEMENTED",
      "INTERNAL",
      "UNAVAILABLE",
      "DATA_LOSS",
      "UNAUTHENTICATED",
  };
  const bool known = status >= DPLEDGER_OK && status <= DPLEDGER_UNAUTHENTICATED;
  return kNames[known ? status : DPLEDGER_UNKNOWN];
}

dpledger_error* dpledger_error_new(void) { return new (std::nothrow) dpledger_error; }

void dpledger_error_free(dpledger_error* error) { delete error; }

dpledger_status dpledger_error_status(const dpledger_error* error) {
  return error != nullptr ? error->status : DPLEDGER_OK;
}

const char* dpledger_error_message(const dpledger_error* error) {
  if (error == nullptr) return "";
  return error->lost ? "out of memory for the message" : error->message.c_str();
}

const char* dpledger_error_field(const dpledger_error* error) {
  return error != nullptr ? error->field.c_str() : "";
}

const char* dpledger_error_reason(const dpledger_error* error) {
  return error != nullptr ? error->reason.c_str() : "";
}

}  // extern "C"
