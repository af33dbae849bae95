// A line that a command writes over while it works, on a terminal only. Not thread safe.
#pragma once

#include <unistd.h>

#include <iostream>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace dpledger::server {

class CommandProgress {
 public:
  ~CommandProgress() {
    if (shown_) std::cerr << "\r\033[K";
  }
  void Show(const std::string& line) {
    const absl::Time now = absl::Now();
    if (!is_terminal_ || now < next_) return;
    next_ = now + absl::Milliseconds(200);
    shown_ = true;
    std::cerr << "\r\033[K" << line << std::flush;
  }

 private:
  const bool is_terminal_ = ::isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
  absl::Time next_ = absl::InfinitePast();
};

}  // namespace dpledger::server
