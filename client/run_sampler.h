// Draws which records take part in the steps of a run with correlated noise: by cyclic Poisson
// sampling or balls in bins, from the run's own key. A run that is carried on so draws what it
// would have drawn (docs/formats.md, section 3.9).
//
// Thread safety: thread-compatible. Groups and bins that are drawn take four bytes a record, twice
// that at the first step.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/internal/allocated_records.h"
#include "client/root_key.h"

namespace dpledger::client {

// Each record is in one of `period` groups for the whole run. Group g may take part in the steps
// g, g + period, ... (from 0) alone, and in each of them every record of it does with
// `probability`. So a step has population_size·probability/period records on average.
struct CyclicPoissonSampling {
  uint64_t population_size = 0;  // in [1, 2^32]; a public constant
  uint64_t period = 1;           // in [1, steps], at least the encoder's number of coefficients
  double probability = 1;        // in (0, 1]
  // Each record's group is drawn without regard to the others, so that the ledger may declare
  // ADD_OR_REMOVE_ONE; else groups are consecutive records, of nearly equal size.
  bool draw_groups = false;
};

// Each record is in one of `bins` bins for the whole run, drawn uniformly; bin i takes part in the
// steps i, i + bins, ...
struct BallsInBinsSampling {
  uint64_t population_size = 0;  // in [1, 2^32]; a public constant
  uint64_t bins = 1;             // in [1, steps]
};

// monostate: the trainer keeps a promise on how often a record takes part, and draws nothing.
using RunSampling = std::variant<std::monostate, CyclicPoissonSampling, BallsInBinsSampling>;

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
