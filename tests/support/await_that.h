// Waiting for what other threads and processes do, but not for ever.
#pragma once

#include <stdexcept>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace dpledger::testing {

// Calls `holds` until it is true. An exception ends the test if it is not within two minutes.
template <typename Condition>
void AwaitThat(Condition holds) {
  const absl::Time late = absl::Now() + absl::Minutes(2);
  while (!holds()) {
    if (absl::Now() > late) throw std::runtime_error("waited for two minutes in vain");
    absl::SleepFor(absl::Milliseconds(1));
  }
}

}  // namespace dpledger::testing
