// Draws which records take part in the steps of a run with correlated noise: by cyclic Poisson
// sampling or balls in bins, from the run's own key. A run that is carried on so draws what it
// would have drawn (docs/formats.md, section 3.9).
//
// Thread safety: thread-compatible. Groups and bins that are drawn take four bytes a record, twice
// that at the first step.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "client/correlated_options.h"
#include "client/internal/uniform_integers.h"
#include "client/root_key.h"

namespace dpledger::client {

class RunSampler {
 public:
  // `sampling` has passed CheckOptions, and is not a monostate. `root` must outlive it.
  RunSampler(const RunSampling& sampling, const RootKey* root);

  // The records of step `step`, from 0, ascending; the same ones whenever it is asked.
  std::vector<uint64_t> Draw(uint64_t step);

 private:
  absl::Span<const uint32_t> Allocated(uint64_t population_size, uint64_t rounds, uint64_t round);

  const RunSampling sampling_;
  const RootKey* const root_;
  internal::RecordsByRound allocated_;
};

}  // namespace dpledger::client
