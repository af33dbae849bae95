// Batches in which nothing is random: the same ones in every epoch.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace dpledger::client {

struct RecordRange {
  uint64_t begin = 0, end = 0;  // records begin to end - 1
};

// The batch of step `step` (from 0) where consecutive batches of nearly equal size take turns: a
// record comes again every batches_per_epoch steps, neither sooner nor later, which is what
// DP-FTRL's correlated noise is calibrated for. No scheme of the ledger speaks of such batches: a
// run of them is recorded as one matrix mechanism. population_size in [1, 2^53), batches_per_epoch
// in [1, population_size]; INVALID_ARGUMENT names what is not.
absl::StatusOr<RecordRange> CyclicBatch(uint64_t population_size, uint64_t batches_per_epoch,
                                        uint64_t step);

namespace internal {

// floor(b n / B) to floor((b + 1) n / B), for batch b of B.
RecordRange Batch(uint64_t population_size, uint64_t batches, uint64_t batch);

}  // namespace internal
}  // namespace dpledger::client
