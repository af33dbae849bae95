// The time that entries are recorded at. It may never go back, so one jump of the machine's clock
// into the future would hold it there. Therefore the time of day counts only as far as a steady
// clock agrees.
//
//  1. Now() is at most an hour past the time of day at the construction plus the time since then.
// Thread safe if the clock is.
#pragma once

#include <algorithm>

#include "absl/time/time.h"
#include "base/clock.h"

namespace dpledger {

class EntryClock {
 public:
  // Trusts the time of day once, now. `clock` must outlive this.
  explicit EntryClock(Clock& clock)
      : clock_(clock), began_(clock.Now()), steady_began_(clock.Steady()) {}

  absl::Time Now() const { return std::min(clock_.Now(), Expected() + kTolerance); }

  // How far the time of day has jumped since the construction: negative if back, 0 if less than an
  // hour.
  absl::Duration Jump() const {
    const absl::Duration jump = clock_.Now() - Expected();
    return absl::AbsDuration(jump) > kTolerance ? jump : absl::ZeroDuration();
  }

 private:
  // More than the two clocks drift apart in a process's life; less than would spoil a ledger's
  // times.
  static constexpr absl::Duration kTolerance = absl::Hours(1);

  absl::Time Expected() const { return began_ + (clock_.Steady() - steady_began_); }

  Clock& clock_;
  const absl::Time began_;
  const absl::Duration steady_began_;
};

}  // namespace dpledger
