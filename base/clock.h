// The time of day behind an interface, so that tests set it.
#pragma once

#include "absl/time/time.h"

namespace dpledger {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() = 0;

  // The system's clock; never destroyed.
  static Clock* System();
};

// Rounds down to the minute. Ledgers hold whole minutes only, because the length of a training step
// would reveal its batch size.
absl::Time CutToMinute(absl::Time time);

}  // namespace dpledger
