#include "cli/progress.h"

#include <unistd.h>

#include <iostream>
#include <utility>

namespace dpledger::cli {

Progress::Progress(std::string doing)
    : doing_(std::move(doing)),
      terminal_(isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (shown_) std::cerr << "\r\033[K" << std::flush;  // the line is gone when the work is
}

void Progress::Show(uint64_t done, uint64_t total) {
  if (!terminal_ || total == 0 || std::chrono::steady_clock::now() < next_) return;
  next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  shown_ = true;
  std::cerr << "\r\033[K" << doing_ << " " << done << " of " << total << " entries" << std::flush;
}

}  // namespace dpledger::cli
