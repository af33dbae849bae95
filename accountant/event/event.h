// Events as values. proto/dpledger/v1/event.proto documents the fields, their units and domains; a
// file each in schemes/ and mechanisms/ has the fields of a kind with their rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "accountant/event/mechanisms/composed.h"
#include "accountant/event/mechanisms/discrete_gaussian.h"
#include "accountant/event/mechanisms/discrete_laplace.h"
#include "accountant/event/mechanisms/epsilon_delta.h"
#include "accountant/event/mechanisms/exponential_mechanism.h"
#include "accountant/event/mechanisms/gaussian.h"
#include "accountant/event/mechanisms/laplace.h"
#include "accountant/event/mechanisms/matrix_mechanism.h"
#include "accountant/event/mechanisms/mixture_of_gaussians.h"
#include "accountant/event/mechanisms/no_op.h"
#include "accountant/event/mechanisms/non_private.h"
#include "accountant/event/mechanisms/permute_and_flip.h"
#include "accountant/event/mechanisms/poisson_sampled.h"
#include "accountant/event/mechanisms/randomized_response.h"
#include "accountant/event/mechanisms/renyi_curve.h"
#include "accountant/event/mechanisms/repeat_and_select.h"
#include "accountant/event/mechanisms/report_noisy_max.h"
#include "accountant/event/mechanisms/sampled_with_replacement.h"
#include "accountant/event/mechanisms/sampled_without_replacement.h"
#include "accountant/event/mechanisms/self_composed.h"
#include "accountant/event/mechanisms/shuffled.h"
#include "accountant/event/mechanisms/single_epoch_tree_aggregation.h"
#include "accountant/event/mechanisms/sparse_vector.h"
#include "accountant/event/mechanisms/truncated_subsampled_gaussian.h"
#include "accountant/event/mechanisms/unsupported.h"
#include "accountant/event/mechanisms/zcdp.h"
#include "accountant/event/nature.h"
#include "accountant/event/schemes/disjoint_batches.h"
#include "accountant/event/schemes/fixed_size.h"
#include "accountant/event/schemes/full_batch.h"
#include "accountant/event/schemes/poisson.h"
#include "accountant/event/schemes/random_allocation.h"
#include "accountant/event/schemes/truncated_poisson.h"

namespace dpledger::accountant {

// ---- Rounds ----

struct SamplingScheme {
  uint64_t population_size = 0;  // below 2^53; 0 = not stated
  std::variant<FullBatch, PoissonSampling, WithoutReplacement, WithReplacement, DisjointBatches,
               RandomAllocation, TruncatedPoisson>
      kind;

  static constexpr auto Fields() {
    return std::tuple(Field{"population_size", &SamplingScheme::population_size, rules::Ordinal},
                      Field{"kind", &SamplingScheme::kind, kAny});
  }
  absl::Status Check() const;
};

// The scheme's name as the wire spells it: "poisson", "full_batch", ...
std::string SchemeName(const SamplingScheme& scheme);

// nullopt if every round draws its own sample.
std::optional<Epoch> EpochOf(const SamplingScheme& scheme);

// One noised sum.
struct SumQuery {
  std::string group;     // what is summed, for people
  double l2_norm_bound;  // S
  double noise_stddev;   // σ
  NoiseKind noise = NoiseKind::kGaussian;
  double grid = 0;  // of rounded noise

  static constexpr auto Fields() {
    return std::tuple(Field{"group", &SumQuery::group, TextUpTo(256), Mark::kLabel},
                      Field{"l2_norm_bound", &SumQuery::l2_norm_bound, rules::Positive},
                      Field{"noise_stddev", &SumQuery::noise_stddev, rules::Positive},
                      Field{"noise", &SumQuery::noise, UpTo(NoiseKind::kDiscreteGaussian)},
                      Field{"grid", &SumQuery::grid, kAny});
  }
  absl::Status Check() const;
};

// One fresh sample and the noised sums released on it.
struct Round {
  SamplingScheme scheme;
  std::vector<SumQuery> queries;

  static constexpr auto Fields() {
    return std::tuple(Field{"scheme", &Round::scheme, kAny},
                      Field{"queries", &Round::queries, kAny});
  }
};

enum class SampleSource { kStated, kDrawn };
struct SamplingEvent {
  uint64_t round;
  SamplingScheme scheme;
  SampleSource source = SampleSource::kStated;

  static constexpr char kName[] = "sampling";
  static constexpr auto Fields() {
    return std::tuple(Field{"round", &SamplingEvent::round, rules::Ordinal},
                      Field{"scheme", &SamplingEvent::scheme, kAny},
                      Field{"source", &SamplingEvent::source, UpTo(SampleSource::kDrawn)});
  }
};
struct SumQueryEvent {
  uint64_t round;
  SumQuery query;

  static constexpr char kName[] = "sum_query";
  static constexpr auto Fields() {
    return std::tuple(Field{"round", &SumQueryEvent::round, rules::Ordinal},
                      Field{"query", &SumQueryEvent::query, kAny});
  }
};
struct RoundsEvent {
  Round round;
  uint64_t count;

  static constexpr char kName[] = "rounds";
  static constexpr auto Fields() {
    return std::tuple(
        Field{"scheme", [](auto& m) -> auto& { return m.round.scheme;
  }
  , kAny
}, Field{"queries", [](auto& m) -> auto& {return m.round.queries;
}  // namespace dpledger::accountant
, [](std::string_view field, const std::vector<SumQuery>& queries) {
  return rules::NotEmpty(field, static_cast<int>(queries.size()));
}
},
        Field{"count", &RoundsEvent::count, rules::Count});
}
absl::Status Check() const;
}
;

// ---- Any other mechanism, as a tree ----

struct Mechanism {
  uint64_t count = 1;
  std::variant<NoOp, NonPrivate, Unsupported, Gaussian, Laplace, DiscreteLaplace, DiscreteGaussian,
               RandomizedResponse, EpsilonDelta, ZCDp, ExponentialMechanism, PermuteAndFlip,
               ReportNoisyMax, Shuffled, SparseVector, MixtureOfGaussians,
               TruncatedSubsampledGaussian, SingleEpochTreeAggregation, MatrixMechanism, RenyiCurve,
               PoissonSampled, SampledWithoutReplacement, SampledWithReplacement, RepeatAndSelect,
               SelfComposed, Composed>
      kind;

  static constexpr char kName[] = "mechanism";
  static constexpr auto Fields() {
    return std::tuple(Field{"count", &Mechanism::count, rules::Count},
                      Field{"kind", &Mechanism::kind, kAny});
  }
};

Nature NatureOf(const Mechanism& mechanism);

// The memory of a mechanism and of all that it is made of.
size_t BytesOf(const Mechanism& mechanism);

// ---- Events ----

using Event = std::variant<SamplingEvent, SumQueryEvent, RoundsEvent, Mechanism>;

// OK, or the error of CheckValue (fields.h), with the path below the event: "rounds.count: ...".
// Resolve checks what it is given, so that no value that breaks its rule reaches a composition,
// whoever made it.
absl::Status CheckEvent(const Event& event);
absl::Status CheckScheme(const SamplingScheme& scheme);
absl::Status CheckQuery(const SumQuery& query);
absl::Status CheckRound(const Round& round);
absl::Status CheckMechanism(const Mechanism& mechanism);

}  // namespace dpledger::accountant
