// Bounds the time and the memory of a question. Every long loop of the accountant calls Check()
// regularly.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace dpledger::accountant {

// FAILED_PRECONDITION, reason ROUNDING_MODE, unless this thread's arithmetic is what every bound is
// derived for: rounded to nearest, with subnormal numbers. Every way into the accountant calls it
// first.
absl::Status CheckArithmetic();

struct Limits {
  absl::Time deadline = absl::InfiniteFuture();
  std::function<bool()> cancelled;  // may be empty; called from the thread that computes
  int64_t max_fft_bins = int64_t{1}
                         << 21;  // 2^21 doubles: 16 MiB an array, about 60 ms a transform

  // The work that one question may take on the loss grid, counted rather than timed (pld/work.h):
  // about a second. All compositions that serve one question share it.
  double max_grid_work = 1.1e9;

  // The same for a contour by jumps (contour/ladder.h); set below this, it limits a line too.
  double max_jump_work = 7e8;

  // Whether the question has taken more memory than it may; may be empty; called as `cancelled` is.
  std::function<bool()> too_large;

  // DEADLINE_EXCEEDED or CANCELLED when it is time to stop; RESOURCE_EXHAUSTED (QUESTION_TOO_LARGE)
  // if it is too large.
  absl::Status Check() const;
};

}  // namespace dpledger::accountant
