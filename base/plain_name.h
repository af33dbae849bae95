// Names that may be printed, logged, stored and compared as they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace dpledger {

inline constexpr size_t kMaxPlainNameBytes = 512;

inline constexpr char kPlainNameRule[] =
    "must be 1 to 512 bytes of printable ASCII without the blank, \", \\ and *";

inline bool IsPlainNameByte(char c) {
  return c > ' ' && c < '\x7f' && c != '"' && c != '\\' && c != '*';
}

// kPlainNameRule: nothing that a terminal, a line of a log or a pattern would take for its own.
inline bool IsPlainName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxPlainNameBytes &&
         std::all_of(text.begin(), text.end(), IsPlainNameByte);
}

}  // namespace dpledger
