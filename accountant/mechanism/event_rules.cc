#include "accountant/mechanism/event_rules.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <variant>

#include "absl/strings/str_cat.h"
#include "accountant/mechanism/traits.h"
#include "base/value_rules.h"

namespace dpledger::accountant {
namespace {

using rules::AtLeast;
using rules::Count;
using rules::Element;
using rules::Must;
using rules::NonNegative;
using rules::NotEmpty;
using rules::Ordinal;
using rules::Positive;
using rules::Probability;
using rules::SamplingProbability;
using rules::WholeIn;
using rules::Within;

constexpr int kMaxDepth = 32;
constexpr uint64_t kMaxComposed = 4096;
constexpr uint64_t kMaxParticipations = 1024;
constexpr uint64_t kMaxToeplitzSteps = 1 << 16;
constexpr uint64_t kMaxBinsOfATree = 2048;
constexpr double kProbabilitySumTolerance = 1e-12;

absl::Status AsMany(std::string_view field, size_t size, std::string_view other, size_t others) {
  if (size == others) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be as many as ", std::string(other), " (", others,
                                        "), got ", size));
}

// ---- Rounds ----

absl::Status CheckKind(const FullBatch&, uint64_t) { return absl::OkStatus(); }
absl::Status CheckKind(const PoissonSampling& m, uint64_t) {
  return SamplingProbability("probability", m.probability);
}
absl::Status CheckKind(const FixedSizeSampling& m, uint64_t population) {
  return WholeIn(1, population, "sample_size", m.sample_size);
}
absl::Status CheckKind(const DisjointBatches& m, uint64_t) {
  RETURN_IF_ERROR(Count("batches_per_epoch", m.batches_per_epoch));
  return Ordinal("epoch", m.epoch);
}
absl::Status CheckKind(const RandomAllocation& m, uint64_t) {
  RETURN_IF_ERROR(Count("rounds_per_epoch", m.rounds_per_epoch));
  RETURN_IF_ERROR(Ordinal("epoch", m.epoch));
  return WholeIn(1, m.rounds_per_epoch, "contributions", m.contributions);
}
absl::Status CheckKind(const TruncatedPoisson& m, uint64_t population) {
  RETURN_IF_ERROR(Count("population_size", population));
  RETURN_IF_ERROR(SamplingProbability("probability", m.probability));
  return Count("max_sample_size", m.max_sample_size);
}

absl::Status CheckScheme(const SamplingScheme& scheme) {
  RETURN_IF_ERROR(Ordinal("population_size", scheme.population_size));
  return Within(
      SchemeName(scheme),
      std::visit([&](const auto& kind) { return CheckKind(kind, scheme.population_size); },
                 scheme.kind));
}

absl::Status CheckQuery(const SumQuery& query) {
  RETURN_IF_ERROR(Positive("l2_norm_bound", query.l2_norm_bound));
  return Positive("noise_stddev", query.noise_stddev);
}

// ---- Mechanisms: the fields of each ----

absl::Status Check(const NoOp&) { return absl::OkStatus(); }
absl::Status Check(const NonPrivate&) { return absl::OkStatus(); }
absl::Status Check(const Unsupported&) { return absl::OkStatus(); }
absl::Status Check(const Gaussian& m) { return Positive("noise_multiplier", m.noise_multiplier); }
absl::Status Check(const Laplace& m) { return Positive("noise_multiplier", m.noise_multiplier); }
absl::Status Check(const DiscreteLaplace& m) {
  RETURN_IF_ERROR(Positive("noise_parameter", m.noise_parameter));
  return Count("sensitivity", m.sensitivity);
}
absl::Status Check(const DiscreteGaussian& m) {
  RETURN_IF_ERROR(Positive("sigma", m.sigma));
  RETURN_IF_ERROR(Count("sensitivity", m.sensitivity));
  return m.dimension == 0 ? absl::OkStatus() : Count("dimension", m.dimension);
}
absl::Status Check(const RandomizedResponse& m) {
  RETURN_IF_ERROR(Probability("noise_parameter", m.noise_parameter));
  return WholeIn(2, rules::kMaxWhole, "num_buckets", m.num_buckets);
}
absl::Status Check(const EpsilonDelta& m) {
  RETURN_IF_ERROR(NonNegative("epsilon", m.epsilon));
  return Probability("delta", m.delta);
}
absl::Status Check(const ZCDp& m) {
  RETURN_IF_ERROR(NonNegative("rho", m.rho));
  return NonNegative("xi", m.xi);
}
absl::Status Check(const ExponentialMechanism& m) { return NonNegative("epsilon", m.epsilon); }
absl::Status Check(const PermuteAndFlip& m) { return NonNegative("epsilon", m.epsilon); }
absl::Status Check(const ReportNoisyMax& m) {
  return Positive("noise_multiplier", m.noise_multiplier);
}
absl::Status Check(const MixtureOfGaussians& m) {
  RETURN_IF_ERROR(Positive("standard_deviation", m.standard_deviation));
  RETURN_IF_ERROR(NotEmpty("sensitivities", static_cast<int>(m.sensitivities.size())));
  RETURN_IF_ERROR(
      AsMany("sampling_probs", m.sampling_probs.size(), "sensitivities", m.sensitivities.size()));
  double sum = 0;
  for (size_t i = 0; i < m.sensitivities.size(); ++i) {
    const int at = static_cast<int>(i);
    RETURN_IF_ERROR(NonNegative(Element("sensitivities", at), m.sensitivities[i]));
    RETURN_IF_ERROR(Probability(Element("sampling_probs", at), m.sampling_probs[i]));
    sum += m.sampling_probs[i];
  }
  return Must(std::abs(sum - 1) <= kProbabilitySumTolerance, "sum to 1 within 1e-12",
              "sampling_probs", sum);
}
absl::Status Check(const TruncatedSubsampledGaussian& m) {
  RETURN_IF_ERROR(Count("dataset_size", m.dataset_size));
  RETURN_IF_ERROR(SamplingProbability("sampling_probability", m.sampling_probability));
  RETURN_IF_ERROR(Count("truncated_batch_size", m.truncated_batch_size));
  return Positive("noise_multiplier", m.noise_multiplier);
}
absl::Status Check(const SingleEpochTreeAggregation& m) {
  RETURN_IF_ERROR(Positive("noise_multiplier", m.noise_multiplier));
  RETURN_IF_ERROR(NotEmpty("step_counts", static_cast<int>(m.step_counts.size())));
  for (size_t i = 0; i < m.step_counts.size(); ++i) {
    RETURN_IF_ERROR(Count(Element("step_counts", static_cast<int>(i)), m.step_counts[i]));
  }
  return absl::OkStatus();
}

absl::Status Check(const Participation& m) {
  RETURN_IF_ERROR(WholeIn(1, kMaxParticipations, "max_participations", m.most));
  return Count("min_separation", m.separation);
}
absl::Status CheckSteps(const TreeEncoder& m) {
  const bool bins = std::holds_alternative<BallsInBins>(m.schedule);
  return WholeIn(1, bins ? kMaxToeplitzSteps : rules::kMaxWhole, "steps", m.steps);
}
absl::Status CheckSchedule(const TreeEncoder& m) {
  if (const auto* some = std::get_if<Participation>(&m.schedule)) return Check(*some);
  return WholeIn(1, std::min(m.steps, kMaxBinsOfATree), "bins",
                 std::get<BallsInBins>(m.schedule).bins);
}
absl::Status CheckSteps(const ToeplitzEncoder& m) {
  RETURN_IF_ERROR(WholeIn(1, kMaxToeplitzSteps, "steps", m.steps));
  RETURN_IF_ERROR(WholeIn(1, m.steps, "coefficients", m.coefficients.size()));
  RETURN_IF_ERROR(Positive("coefficients[0]", m.coefficients[0]));
  for (size_t i = 1; i < m.coefficients.size(); ++i) {
    const std::string element = Element("coefficients", static_cast<int>(i));
    RETURN_IF_ERROR(NonNegative(element, m.coefficients[i]));
    RETURN_IF_ERROR(Must(m.coefficients[i] <= m.coefficients[i - 1],
                         "not be above the one before it", element, m.coefficients[i]));
  }
  return absl::OkStatus();
}
struct ToeplitzSchedule {
  const ToeplitzEncoder& encoder;

  absl::Status operator()(const Participation& m) const { return Check(m); }
  absl::Status operator()(const CyclicPoisson& m) const {
    RETURN_IF_ERROR(WholeIn(encoder.coefficients.size(), encoder.steps, "period", m.period));
    return SamplingProbability("probability", m.probability);
  }
  absl::Status operator()(const BallsInBins& m) const {
    return WholeIn(1, encoder.steps, "bins", m.bins);
  }
  absl::Status operator()(const MinSeparationSampling& m) const {
    RETURN_IF_ERROR(SamplingProbability("probability", m.probability));
    return WholeIn(1, encoder.steps, "min_separation", m.min_separation);
  }
};
absl::Status CheckSchedule(const ToeplitzEncoder& m) {
  return std::visit(ToeplitzSchedule{m}, m.schedule);
}
struct Encoder {
  absl::Status operator()(double sensitivity) const { return Positive("sensitivity", sensitivity); }
  template <typename Kind>
  absl::Status operator()(const Kind& encoder) const {
    RETURN_IF_ERROR(CheckSteps(encoder));
    return CheckSchedule(encoder);
  }
};
absl::Status Check(const MatrixMechanism& m) {
  RETURN_IF_ERROR(Positive("noise_stddev", m.noise_stddev));
  if (m.noise == NoiseKind::kDiscreteGaussian) {
    return FieldError("noise", "must be GAUSSIAN or ROUNDED_GAUSSIAN, got DISCRETE_GAUSSIAN");
  }
  return std::visit(Encoder{}, m.encoder);
}

absl::Status Check(const RenyiCurve& m) {
  RETURN_IF_ERROR(NotEmpty("orders", static_cast<int>(m.orders.size())));
  RETURN_IF_ERROR(AsMany("epsilons", m.epsilons.size(), "orders", m.orders.size()));
  double previous = 1;
  for (size_t i = 0; i < m.orders.size(); ++i) {
    const int at = static_cast<int>(i);
    RETURN_IF_ERROR(rules::GreaterThan(previous, Element("orders", at), m.orders[i]));
    RETURN_IF_ERROR(rules::NonNegativeOrInfinite(Element("epsilons", at), m.epsilons[i]));
    previous = m.orders[i];
  }
  return absl::OkStatus();
}

// ---- Those with a tree below: the fields beside it ----

absl::Status Check(const PoissonSampled& m) {
  return SamplingProbability("sampling_probability", m.sampling_probability);
}
absl::Status Check(const SampledWithoutReplacement& m) {
  RETURN_IF_ERROR(Count("source_dataset_size", m.source_dataset_size));
  return WholeIn(1, m.source_dataset_size, "sample_size", m.sample_size);
}
absl::Status Check(const SampledWithReplacement& m) {
  RETURN_IF_ERROR(Count("source_dataset_size", m.source_dataset_size));
  return Count("sample_size", m.sample_size);
}
absl::Status Check(const RepeatAndSelect& m) {
  const bool is_poisson = std::isinf(m.shape) && m.shape > 0;
  RETURN_IF_ERROR(Must(is_poisson || (std::isfinite(m.shape) && m.shape > -1),
                       "be > -1 (infinity = Poisson)", "shape", m.shape));
  return is_poisson ? Positive("mean", m.mean) : AtLeast(1, "mean", m.mean);
}
absl::Status Check(const SelfComposed& m) { return Count("count", m.count); }
absl::Status Check(const Composed& m) {
  return WholeIn(1, kMaxComposed, "events", m.events.size());
}

// ---- Trees ----

template <typename Kind>
constexpr bool kHasPart = requires(const Kind& kind) {
  kind.event;
};

absl::Status CheckAt(const Mechanism& mechanism, int depth) {
  if (depth > kMaxDepth) {
    return FieldError("event", absl::StrCat("must be at most ", kMaxDepth, " levels deep"));
  }
  RETURN_IF_ERROR(Count("count", mechanism.count));
  return std::visit(
      [depth]<typename Kind>(const Kind& kind) -> absl::Status {
        RETURN_IF_ERROR(Check(kind));
        if constexpr (kHasPart<Kind>) {
          RETURN_IF_ERROR(WholeIn(1, 1, "event", kind.event.size()));
        }
        for (const Mechanism& part : Traits<Kind>::Parts(kind)) {
          RETURN_IF_ERROR(Within("event", CheckAt(part, depth + 1)));
        }
        return absl::OkStatus();
      },
      mechanism.kind);
}

}  // namespace

absl::Status CheckRound(const Round& round) {
  RETURN_IF_ERROR(Within("scheme", CheckScheme(round.scheme)));
  for (size_t i = 0; i < round.queries.size(); ++i) {
    RETURN_IF_ERROR(Within(Element("queries", static_cast<int>(i)), CheckQuery(round.queries[i])));
  }
  return absl::OkStatus();
}

absl::Status CheckMechanism(const Mechanism& mechanism) { return CheckAt(mechanism, 1); }

}  // namespace dpledger::accountant
