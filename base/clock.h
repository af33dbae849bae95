// The time of day, and the time that has passed, behind an interface, so that tests set them.
#pragma once

#include "absl/time/time.h"

namespace dpledger {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() = 0;
  // Time since some fixed moment: it never jumps, and goes on while the machine sleeps. Unless
  // overridden it follows Now(), as for a time of day that never jumps.
  virtual absl::Duration Steady() { return Now() - absl::UnixEpoch(); }

  // The system's clock; never destroyed.
  static Clock* System();
};

// Rounds down to the minute. Ledgers hold whole minutes only, because the length of a training step
// would reveal its batch size.
absl::Time CutToMinute(absl::Time time);

}  // namespace dpledger
