// Reads what a C caller gives: structs that may be of another version, text, flags. Each copy is
// checked before anything is done with it.
//
// `field` is the argument's or member's name in errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger::client::c {

// INVALID_ARGUMENT (`field`.struct_size) unless `struct_size` is in [least, 4096] and the bytes of
// the struct beyond the `known` ones are 0.
absl::Status CheckStruct(std::string_view field, const void* given, size_t struct_size,
                         size_t least, size_t known);

// A struct as this library knows it, of which version 1 had `least` bytes: what the caller's has
// not is 0. INVALID_ARGUMENT if it is NULL.
template <typename Struct>
absl::StatusOr<Struct> ReadStruct(std::string_view field, const void* given,
                                  size_t least = sizeof(Struct)) {
  static_assert(offsetof(Struct, struct_size) == 0);
  size_t struct_size = 0;
  if (given != nullptr) std::memcpy(&struct_size, given, sizeof(struct_size));
  const absl::Status checked = CheckStruct(field, given, struct_size, least, sizeof(Struct));
  if (!checked.ok()) return checked;
  Struct known = {};
  std::memcpy(&known, given, struct_size < sizeof(Struct) ? struct_size : sizeof(Struct));
  return known;
}

// The elements of an array of `count` structs that a caller of another version has laid out: their
// names in errors, and where they are. INVALID_ARGUMENT unless there are 1 to `most` of the same
// struct_size.
struct Element {
  std::string field;
  const void* at;
};
absl::StatusOr<std::vector<Element>> ReadArray(std::string_view field, const void* given,
                                               size_t count, size_t most);

// The text, which is UTF-8 of at most 4096 bytes. `otherwise` stands for NULL; none: it must not be
// NULL.
absl::StatusOr<std::string> ReadText(std::string_view field, const char* given,
                                     const char* otherwise = nullptr);

absl::StatusOr<bool> ReadFlag(std::string_view field, int32_t given);

// INVALID_ARGUMENT unless `given` is in [least, most].
absl::Status CheckConstant(std::string_view field, int32_t given, int32_t least, int32_t most);

// INVALID_ARGUMENT unless `given` is 0, because `why`.
absl::Status CheckZero(std::string_view field, double given, std::string_view why);
absl::Status CheckReserved(std::string_view field, int32_t given);

}  // namespace dpledger::client::c
