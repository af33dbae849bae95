// The time of day behind an interface, so that tests set it.
#pragma once

#include "absl/time/time.h"

namespace dpledger {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() = 0;

  // The system's clock; lives for ever.
  static Clock* System();
};

// Ledgers hold whole minutes only: the length of a step tells its batch size.
absl::Time CutToMinute(absl::Time time);

}  // namespace dpledger
