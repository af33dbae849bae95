// Calls libdpledger_accounting, for its tests.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace dpledger::accounting {

struct LibraryAnswer {
  int32_t code = 0;
  std::string bytes;

  bool operator==(const LibraryAnswer&) const = default;
};
inline void PrintTo(const LibraryAnswer& answer, std::ostream* out) {
  *out << answer.code << ' ' << answer.bytes;
}

// Frees the library's answer.
LibraryAnswer AskLibrary(int32_t encoding, const std::string& method, const std::string& question);

}  // namespace dpledger::accounting
