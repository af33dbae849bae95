// Read before every source: the parts of C++20's library that the accountant uses and libc++ 13,
// which emscripten 3.1.6 has, lacks.
#pragma once

#ifdef __cplusplus
#include <bit>
#include <charconv>
#include <compare>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace std {

template <typename To, typename From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

template <typename Char, typename Traits, typename Allocator>
strong_ordering operator<=>(const basic_string<Char, Traits, Allocator>& a,
                            const basic_string<Char, Traits, Allocator>& b) {
  return a.compare(b) <=> 0;
}

// The fewest digits that read back as `value`, for the words of an error. Room for 25 is there.
inline to_chars_result to_chars(char* first, char*, double value) {
  int size = 0;
  for (int digits = 1; digits <= 17; ++digits) {
    size = snprintf(first, 25, "%.*g", digits, value);
    if (strtod(first, nullptr) == value) break;
  }
  return {first + size, errc()};
}

}  // namespace std
#endif
