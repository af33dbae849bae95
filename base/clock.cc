#include "base/clock.h"

#include <time.h>

#include "absl/time/clock.h"

namespace dpledger {
namespace {

class SystemClock : public Clock {
 public:
  absl::Time Now() override { return absl::Now(); }
  absl::Duration Steady() override {
    timespec since_boot = {};
    ::clock_gettime(CLOCK_BOOTTIME, &since_boot);  // fails for no clock that the kernel has
    return absl::DurationFromTimespec(since_boot);
  }
};

}  // namespace

Clock* Clock::System() {
  static Clock* const clock = new SystemClock;
  return clock;
}

absl::Time CutToMinute(absl::Time time) {
  return absl::FromUnixSeconds(absl::ToUnixSeconds(time) / 60 * 60);
}

}  // namespace dpledger
