// Events as values. proto/dpledger/v1/event.proto documents the fields, their units and domains;
// event_rules.h checks them.
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
  uint64_t contributions = 1;
  bool fixed_bins = false;
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

// The epoch that a round belongs to: its sample depends on those of the epoch's other rounds.
struct Epoch {
  uint64_t rounds;  // of the whole epoch
  uint64_t number;
};
// nullopt if every round draws its own sample.
std::optional<Epoch> EpochOf(const SamplingScheme& scheme);

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

// ---- Any other mechanism, as a tree ----

struct Mechanism;

// A vector named `event` holds exactly one element.
struct NoOp {};
struct NonPrivate {};
// A private mechanism without an analysis: every question about it is refused.
struct Unsupported {
  std::string description;
};
struct Gaussian {
  double noise_multiplier;
};
struct Laplace {
  double noise_multiplier;  // scale over L1 sensitivity
};
struct DiscreteLaplace {
  double noise_parameter;
  uint64_t sensitivity;
};
struct DiscreteGaussian {
  double sigma;
  uint64_t sensitivity;
  uint64_t dimension = 0;  // 0 = not stated
};
struct RandomizedResponse {
  double noise_parameter;
  uint64_t num_buckets;
};
struct EpsilonDelta {
  double epsilon, delta;
  bool operator==(const EpsilonDelta&) const = default;
};
struct ZCDp {
  double rho, xi;
};
struct ExponentialMechanism {
  double epsilon;
};
struct PermuteAndFlip {
  double epsilon;
};
// Adds fresh noise to each of several scores and releases the index of the best.
struct ReportNoisyMax {
  enum class Noise { kLaplace, kExponential, kGumbel };
  double noise_multiplier;  // scale over a score's sensitivity
  Noise noise;
  bool monotonic;  // one record moves all scores the same way
};
struct MixtureOfGaussians {
  double standard_deviation;
  std::vector<double> sensitivities, sampling_probs;
};
struct TruncatedSubsampledGaussian {
  uint64_t dataset_size;
  double sampling_probability;
  uint64_t truncated_batch_size;
  double noise_multiplier;
};
struct SingleEpochTreeAggregation {
  double noise_multiplier;
  std::vector<uint64_t> step_counts;
};
struct Participation {
  uint64_t most, separation;
};
struct CyclicPoisson {
  uint64_t period;
  double probability;
  bool drawn_one_by_one;  // the groups; else they are of equal size
};
struct BallsInBins {
  uint64_t bins;
};
struct MinSeparationSampling {
  double probability;
  uint64_t min_separation;
};
struct TreeEncoder {
  uint64_t steps;
  std::variant<Participation, BallsInBins> schedule;
};
struct ToeplitzEncoder {
  uint64_t steps;
  std::vector<double> coefficients;
  std::variant<Participation, CyclicPoisson, BallsInBins, MinSeparationSampling> schedule;
};
struct MatrixMechanism {
  std::variant<double, TreeEncoder, ToeplitzEncoder>
      encoder;  // double: the sensitivity, as stated by the writer
  double noise_stddev;
  NoiseKind noise = NoiseKind::kGaussian;  // or kRoundedGaussian
};
struct RenyiCurve {
  std::vector<double> orders, epsilons;
};
struct PoissonSampled {
  double sampling_probability;
  std::vector<Mechanism> event;
};
struct SampledWithoutReplacement {
  uint64_t source_dataset_size, sample_size;
  std::vector<Mechanism> event;
};
struct SampledWithReplacement {
  uint64_t source_dataset_size, sample_size;
  std::vector<Mechanism> event;
};
struct RepeatAndSelect {
  std::vector<Mechanism> event;
  double mean, shape;
};
struct SelfComposed {
  std::vector<Mechanism> event;
  uint64_t count;
};
struct Composed {
  std::vector<Mechanism> events;
};

struct Mechanism {
  uint64_t count = 1;
  std::variant<NoOp, NonPrivate, Unsupported, Gaussian, Laplace, DiscreteLaplace, DiscreteGaussian,
               RandomizedResponse, EpsilonDelta, ZCDp, ExponentialMechanism, PermuteAndFlip,
               ReportNoisyMax, MixtureOfGaussians, TruncatedSubsampledGaussian,
               SingleEpochTreeAggregation, MatrixMechanism, RenyiCurve, PoissonSampled,
               SampledWithoutReplacement, SampledWithReplacement, RepeatAndSelect, SelfComposed,
               Composed>
      kind;
};

using Event = std::variant<SamplingEvent, SumQueryEvent, RoundsEvent, Mechanism>;

}  // namespace dpledger::accountant
