// What every fuzzer stands on: its input as text, and checks that end it with the input kept.
//
// A fuzzer is a function of bytes. It may refuse them, but it must not crash, and what it accepts
// must keep the promises that its parser's header makes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "google/protobuf/message.h"

// Ends the fuzzer, which keeps the input, unless `condition` holds.
#define FUZZ_CHECK(condition)                                                             \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

namespace dpledger::fuzz {

inline std::string_view Text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Cuts the first byte off, which chooses what is done with the rest; 0 if there is none.
inline int TakeChoice(std::string_view& input) {
  if (input.empty()) return 0;
  const int choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  return choice;
}

// Protobuf reports what does not parse on stderr: millions of times in an hour.
inline void KeepProtobufQuiet() {
  static const bool quiet = [] {
    google::protobuf::SetLogHandler(nullptr);
    return true;
  }();
  (void)quiet;
}

}  // namespace dpledger::fuzz
