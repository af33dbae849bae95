// Events as values: what accountant/from_proto makes of the wire's messages, checked. The fields,
// their units and domains are those of proto/dpledger/v1/event.proto; a value of these types has
// been checked against them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace dpledger::accountant {

// ---- Sampling schemes ----

struct FullBatch {
  bool operator==(const FullBatch&) const = default;
};
struct PoissonSampling {
  double probability;
  bool operator==(const PoissonSampling&) const = default;
};
struct FixedSizeSampling {
  uint64_t sample_size;
  bool with_replacement;
  bool operator==(const FixedSizeSampling&) const = default;
};
struct DisjointBatches {
  uint64_t batches_per_epoch;
  uint64_t epoch;
  bool operator==(const DisjointBatches&) const = default;
};
struct RandomAllocation {
  uint64_t rounds_per_epoch;
  uint64_t epoch;
  bool operator==(const RandomAllocation&) const = default;
};
struct TruncatedPoisson {
  double probability;
  uint64_t max_sample_size;
  bool operator==(const TruncatedPoisson&) const = default;
};

struct SamplingScheme {
  uint64_t population_size = 0;  // 0 = not stated
  std::variant<FullBatch, PoissonSampling, FixedSizeSampling, DisjointBatches, RandomAllocation,
               TruncatedPoisson>
      kind;
  bool operator==(const SamplingScheme&) const = default;
};

// The scheme's name as the wire spells it: "poisson", "full_batch", ...
std::string SchemeName(const SamplingScheme& scheme);

// ---- Rounds ----

enum class NoiseKind { kGaussian, kRoundedGaussian, kDiscreteGaussian };

struct SumQuery {
  std::string group;
  double l2_norm_bound;  // S
  double noise_stddev;   // σ
  NoiseKind noise = NoiseKind::kGaussian;
  double grid = 0;
};

// One fresh sample and the noised sums released on it.
struct Round {
  SamplingScheme scheme;
  std::vector<SumQuery> queries;
};

struct SamplingEvent {
  uint64_t round;
  SamplingScheme scheme;
};
struct SumQueryEvent {
  uint64_t round;
  SumQuery query;
};
struct RoundsEvent {
  Round round;
  uint64_t count;
};

// ---- Any other mechanism: a closed tree ----

struct Mechanism;

struct NoOp {};
struct NonPrivate {};
struct Gaussian {
  double noise_multiplier;
};
struct PoissonSampled {
  double sampling_probability;
  std::vector<Mechanism> event;  // exactly one
};
struct SelfComposed {
  std::vector<Mechanism> event;  // exactly one
  uint64_t count;
};
struct Composed {
  std::vector<Mechanism> events;
};
// A mechanism that is known, checked and stored, and has no analysis here yet: answers refuse it by
// this name.
struct NotAnalysed {
  std::string name;  // the wire's name of the case: "laplace", "single_epoch_tree_aggregation"
};

struct Mechanism {
  uint64_t count = 1;
  std::variant<NoOp, NonPrivate, Gaussian, PoissonSampled, SelfComposed, Composed, NotAnalysed>
      kind;
};

using Event = std::variant<SamplingEvent, SumQueryEvent, RoundsEvent, Mechanism>;

}  // namespace dpledger::accountant
