#include "ledger_store/evidence/entry_clock.h"

#include <algorithm>

namespace dpledger {
namespace {

// More than the two clocks drift apart in a process's life; less than would spoil a ledger's times.
constexpr absl::Duration kTolerance = absl::Hours(1);

}  // namespace

EntryClock::EntryClock(Clock& clock)
    : clock_(clock), began_(clock.Now()), steady_began_(clock.Steady()) {}

absl::Time EntryClock::Now() const { return std::min(clock_.Now(), Expected() + kTolerance); }

absl::Duration EntryClock::Jump() const {
  const absl::Duration jump = clock_.Now() - Expected();
  return absl::AbsDuration(jump) > kTolerance ? jump : absl::ZeroDuration();
}

}  // namespace dpledger
