// A progress line, "verified 120000 of 1000000 entries". It is rewritten in place if stderr is a
// terminal, at most ten times a second; otherwise nothing is printed. Not thread safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace dpledger::cli {

class Progress {
 public:
  explicit Progress(std::string doing);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(uint64_t done, uint64_t total);

 private:
  const std::string doing_;
  const bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace dpledger::cli
