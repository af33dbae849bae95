// Every entry of the C interface runs in Guard: what the C++ says, or throws, becomes a status and
// fills the caller's error object. What a caller gives (structs that may be of another version,
// text, flags) is read into copies that are checked before anything is done with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"
#include "dpledger.h"

struct dpledger_error {
  dpledger_status status = DPLEDGER_OK;
  std::string message, field, reason;
  bool lost = false;  // there was no memory for the texts
};

namespace dpledger::client::c {

// They set `error`, unless it is NULL, and return the code.
dpledger_status Report(const absl::Status& status, dpledger_error* error) noexcept;
dpledger_status Report(dpledger_status status, const char* message, dpledger_error* error) noexcept;

// An argument that must not be NULL, with its name in errors.
struct Given {
  const char* name;
  const void* pointer;
};
// INVALID_ARGUMENT (its name) for the first that is NULL.
absl::Status CheckGiven(std::initializer_list<Given> given);

// `body` returns an absl::Status. It runs once all that it needs is given.
template <typename Body>
dpledger_status Guard(dpledger_error* error, std::initializer_list<Given> given,
                      const Body& body) noexcept {
  constexpr char kNoMemory[] = "out of memory";
  try {
    const absl::Status checked = CheckGiven(given);
    return Report(checked.ok() ? body() : checked, error);
  } catch (const std::bad_alloc&) {
    return Report(DPLEDGER_RESOURCE_EXHAUSTED, kNoMemory, error);
  } catch (const std::length_error&) {
    return Report(DPLEDGER_RESOURCE_EXHAUSTED, kNoMemory, error);
  } catch (const std::exception& exception) {
    return Report(DPLEDGER_INTERNAL, exception.what(), error);
  } catch (...) {
    return Report(DPLEDGER_INTERNAL, "unknown exception", error);
  }
}

// Guard for a call that makes `*handle`, which is NULL after an error: of what the absl::StatusOr
// that `make` returns holds.
template <typename Handle, typename Make>
dpledger_status GuardNew(dpledger_error* error, const char* name, Handle** handle,
                         std::initializer_list<Given> given, const Make& make) noexcept {
  return Guard(error, {{name, handle}}, [&]() -> absl::Status {
    *handle = nullptr;
    RETURN_IF_ERROR(CheckGiven(given));
    ASSIGN_OR_RETURN(auto made, make());
    *handle = new Handle{std::move(made)};
    return absl::OkStatus();
  });
}

// `field` below is the argument's or member's name in errors.

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
  RETURN_IF_ERROR(CheckStruct(field, given, struct_size, least, sizeof(Struct)));
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
