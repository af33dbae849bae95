#include "client/c/read.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "base/utf8.h"

namespace dpledger::client::c {
namespace {

constexpr size_t kMaxStructBytes = 4096;
constexpr size_t kMaxTextBytes = 4096;

}  // namespace

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
