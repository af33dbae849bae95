#include "client/fixed_batches.h"

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/internal/population.h"

namespace dpledger::client {

absl::StatusOr<RecordRange> CyclicBatch(uint64_t population_size, uint64_t batches_per_epoch,
                                        uint64_t step) {
  RETURN_IF_ERROR(internal::CheckPopulation(population_size));
  if (batches_per_epoch < 1 || batches_per_epoch > population_size) {
    return FieldError("batches_per_epoch",
                      absl::StrCat("must be in [1, population_size], got ", batches_per_epoch));
  }
  return internal::Batch(population_size, batches_per_epoch, step % batches_per_epoch);
}

namespace internal {

RecordRange Batch(uint64_t population_size, uint64_t batches, uint64_t batch) {
  const auto begin = [&](uint64_t b) {
    return static_cast<uint64_t>(absl::uint128(b) * population_size / batches);
  };
  return {begin(batch), begin(batch + 1)};
}

}  // namespace internal
}  // namespace dpledger::client
