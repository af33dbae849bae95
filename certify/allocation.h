// One epoch of a random allocation: a record is in one of the epoch's rounds, drawn uniformly, and
// each round adds Gaussian noise to its sum. The loss has no closed form: two pairs of point masses
// enclose it. CLAIM.md, section 7.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "certify/composition.h"

namespace dpledger::certify {

// `mu` is what the record changes of its round's sum over the noise. The error is UNIMPLEMENTED:
// for more than 100,000 rounds, and noise that is too small or too great for balls. On a lattice
// that is too rough, nothing is known below: of no outcome.
absl::StatusOr<Enclosed> EncloseAllocation(const Ball& mu, uint64_t rounds,
                                           const Closeness& closeness);

}  // namespace dpledger::certify
