// How long to wait before the next attempt: twice as long each time up to a bound, and a random
// part of it, so that the trainers of a server that comes back do not all come at once. Not thread
// safe.
#pragma once

#include <algorithm>

#include "absl/random/random.h"
#include "absl/time/time.h"

namespace dpledger::client::internal {

class Backoff {
 public:
  Backoff(absl::Duration first, absl::Duration longest)
      : first_(first), longest_(longest), current_(first) {}

  absl::Duration Next() {
    const absl::Duration wait = current_ * absl::Uniform(random_, 0.5, 1.0);
    current_ = std::min(2 * current_, longest_);
    return wait;
  }
  void Reset() { current_ = first_; }

 private:
  const absl::Duration first_;
  const absl::Duration longest_;
  absl::Duration current_;
  absl::BitGen random_;
};

}  // namespace dpledger::client::internal
