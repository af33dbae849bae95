#include "base/clock.h"

#include "absl/time/clock.h"

namespace dpledger {
namespace {

class SystemClock : public Clock {
 public:
  absl::Time Now() override { return absl::Now(); }
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
