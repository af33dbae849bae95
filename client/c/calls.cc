#include "client/c/calls.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "base/utf8.h"

namespace dpledger::client::c {

constexpr size_t kMaxStructBytes = 4096;
constexpr size_t kMaxTextBytes = 4096;

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

absl::Status CheckGiven(std::initializer_list<Given> given) {
  for (const auto& [name, pointer] : given) {
    if (pointer == nullptr) return FieldError(name, "must not be NULL");
  }
  return absl::OkStatus();
}

absl::Status CheckStruct(std::string_view field, const void* given, size_t struct_size,
                         size_t least, size_t known) {
  if (given == nullptr) return FieldError(field, "must not be NULL");
  const std::string size_field = absl::StrCat(ToAbsl(field), ".struct_size");
  if (struct_size < least || struct_size > kMaxStructBytes) {
    return FieldError(size_field, absl::StrCat("must be the struct's sizeof, in [", least, ", ",
                                               kMaxStructBytes, "], got ", struct_size));
  }
  const auto* bytes = static_cast<const char*>(given);
  if (struct_size <= known ||
      std::all_of(bytes + known, bytes + struct_size, [](char byte) { return byte == 0; })) {
    return absl::OkStatus();
  }
  return FieldError(size_field, absl::StrCat("has members set that this library does not know; it "
                                             "knows ",
                                             known, " bytes, got ", struct_size));
}

absl::StatusOr<std::vector<Element>> ReadArray(std::string_view field, const void* given,
                                               size_t count, size_t most) {
  if (count < 1 || count > most) {
    return FieldError(field, absl::StrCat("must be 1 to ", most, ", got ", count));
  }
  if (given == nullptr) return FieldError(field, "must not be NULL");
  std::vector<Element> elements;
  size_t stride = 0;
  std::memcpy(&stride, given, sizeof(stride));
  for (size_t i = 0; i < count; ++i) {
    const std::string name = absl::StrCat(ToAbsl(field), "[", i, "]");
    const char* const at = static_cast<const char*>(given) + i * stride;
    size_t struct_size = 0;
    std::memcpy(&struct_size, at, sizeof(struct_size));
    if (stride < sizeof(stride) || stride > kMaxStructBytes || struct_size != stride) {
      return FieldError(absl::StrCat(name, ".struct_size"),
                        absl::StrCat("must be the struct's sizeof, the same in every element, got ",
                                     struct_size));
    }
    elements.push_back({name, at});
  }
  return elements;
}

absl::StatusOr<std::string> ReadText(std::string_view field, const char* given,
                                     const char* otherwise) {
  if (given == nullptr) given = otherwise;
  if (given == nullptr) return FieldError(field, "must not be NULL");
  const size_t size = ::strnlen(given, kMaxTextBytes + 1);
  if (size > kMaxTextBytes) {
    return FieldError(field, absl::StrCat("must have at most ", kMaxTextBytes, " bytes"));
  }
  const std::string text(given, size);
  if (!IsUtf8(text)) return FieldError(field, "must be UTF-8");
  return text;
}

absl::StatusOr<bool> ReadFlag(std::string_view field, int32_t given) {
  RETURN_IF_ERROR(CheckConstant(field, given, 0, 1));
  return given == 1;
}

absl::Status CheckConstant(std::string_view field, int32_t given, int32_t least, int32_t most) {
  if (given >= least && given <= most) return absl::OkStatus();
  return FieldError(field,
                    absl::StrCat("must be a constant from ", least, " to ", most, ", got ", given));
}

absl::Status CheckZero(std::string_view field, double given, std::string_view why) {
  if (given == 0) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be 0", ToAbsl(why), ", got ", given));
}

absl::Status CheckReserved(std::string_view field, int32_t given) {
  return CheckZero(absl::StrCat(ToAbsl(field), ".reserved"), given, "");
}

}  // namespace dpledger::client::c

extern "C" {

uint32_t dpledger_abi_version(void) { return DPLEDGER_ABI_MAJOR << 16 | DPLEDGER_ABI_MINOR; }

const char* dpledger_status_name(dpledger_status status) {
  static const auto* const names = [] {
    auto* const all = new std::vector<std::string>;
    for (int code = DPLEDGER_OK; code <= DPLEDGER_UNAUTHENTICATED; ++code)
      all->push_back(absl::StatusCodeToString(static_cast<absl::StatusCode>(code)));
    return all;
  }();
  const bool known = status >= DPLEDGER_OK && status <= DPLEDGER_UNAUTHENTICATED;
  return (*names)[known ? status : DPLEDGER_UNKNOWN].c_str();
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
