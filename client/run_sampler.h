// Draws which records take part in the steps of a run with correlated noise: by cyclic Poisson
// sampling or balls in bins, from the run's own key. A run that is carried on so draws what it
// would have drawn (docs/formats.md, section 3.9).
//
// Thread safety: thread-compatible. Groups and bins that are drawn take four bytes a record, twice
// that at the first step.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/correlated_options.h"
#include "client/internal/allocated_records.h"
#include "client/root_key.h"

namespace dpledger::client {

// INVALID_ARGUMENT names the field that is out of its domain: "sampling.period: ...".
absl::Status CheckSampling(const RunSampling& sampling, uint64_t steps);

class RunSampler {
 public:
  // `sampling` has passed CheckSampling, and is not a monostate. `root` must outlive it.
  RunSampler(const RunSampling& sampling, const RootKey* root);

  // The records of step `step`, from 0, ascending; the same ones whenever it is asked.
  std::vector<uint64_t> Draw(uint64_t step);

 private:
  std::vector<uint64_t> DrawBy(const CyclicPoissonSampling& cyclic, uint64_t step);
  std::vector<uint64_t> DrawBy(const BallsInBinsSampling& balls, uint64_t step);
  absl::Span<const uint32_t> Allocated(uint64_t population_size, uint64_t rounds, uint64_t round);

  const RunSampling sampling_;
  const RootKey* const root_;
  internal::RecordsByRound allocated_;
};

}  // namespace dpledger::client
