// A record that is in one round's sum several times, by chance: drawn with replacement, or one of
// a group that is sampled record by record. CLAIM.md, section 8.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "certify/composition.h"

namespace dpledger::certify {

// Gaussian noise of scale 1 on the value j·mu with probability Bin(draws, q)(j), against that on 0.
// The error is UNIMPLEMENTED: for a mu above 1,000, and where more than 256 copies matter.
absl::StatusOr<Enclosed> EncloseCopies(const Ball& mu, const Ball& q, uint64_t draws,
                                       const Closeness& closeness);

}  // namespace dpledger::certify
