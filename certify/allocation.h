// One epoch of a random allocation: a record is in one of the epoch's rounds, drawn uniformly, and
// each round adds Gaussian noise to its sum. The loss has no closed form: two pairs of point masses
// enclose it. CLAIM.md, section 7.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "certify/composition.h"

namespace dpledger::certify {

// `mu` is what the record changes of its round's sum over the noise. UNIMPLEMENTED: it does not
// come out so.
absl::StatusOr<Enclosed> EncloseAllocation(const Ball& mu, uint64_t rounds,
                                           const Closeness& closeness);

}  // namespace dpledger::certify
