#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "events/event_rules.h"
#include "events/field_checks.h"

namespace dpledger::events {
namespace {

constexpr int kMaxDepth = 32;       // levels of MechanismEvent
constexpr int kMaxComposed = 4096;  // events in one Composed
constexpr size_t kMaxDescription = 1024;
constexpr uint64_t kMaxParticipations = 1024;
constexpr uint64_t kMaxToeplitzSteps = 1 << 16;
constexpr uint64_t kMaxBinsOfATree = 2048;
constexpr double kProbabilitySumTolerance = 1e-12;

absl::Status CheckAt(const v1::MechanismEvent& event, int depth);

// ---- Leaves: fields only ----

absl::Status CheckFields(const v1::NoOp&) { return absl::OkStatus(); }
absl::Status CheckFields(const v1::NonPrivate&) { return absl::OkStatus(); }
absl::Status CheckFields(const v1::Unsupported& m) {
  return Text(0, kMaxDescription, "description", m.description());
}
absl::Status CheckFields(const v1::Gaussian& m) {
  return Positive("noise_multiplier", m.noise_multiplier());
}
absl::Status CheckFields(const v1::Laplace& m) {
  return Positive("noise_multiplier", m.noise_multiplier());
}
absl::Status CheckFields(const v1::DiscreteLaplace& m) {
  RETURN_IF_ERROR(Positive("noise_parameter", m.noise_parameter()));
  return Count("sensitivity", m.sensitivity());
}
absl::Status CheckFields(const v1::DiscreteGaussian& m) {
  RETURN_IF_ERROR(Positive("sigma", m.sigma()));
  RETURN_IF_ERROR(Count("sensitivity", m.sensitivity()));
  return m.has_dimension() ? Count("dimension", m.dimension()) : absl::OkStatus();
}
absl::Status CheckFields(const v1::RandomizedResponse& m) {
  RETURN_IF_ERROR(Probability("noise_parameter", m.noise_parameter()));
  return WholeIn(2, kMaxWhole, "num_buckets", m.num_buckets());
}
absl::Status CheckFields(const v1::EpsilonDelta& m) {
  RETURN_IF_ERROR(NonNegative("epsilon", m.epsilon()));
  return Probability("delta", m.delta());
}
absl::Status CheckFields(const v1::ZCDp& m) {
  RETURN_IF_ERROR(NonNegative("rho", m.rho()));
  return NonNegative("xi", m.xi());
}
absl::Status CheckFields(const v1::ExponentialMechanism& m) {
  return NonNegative("epsilon", m.epsilon());
}
absl::Status CheckFields(const v1::PermuteAndFlip& m) {
  return NonNegative("epsilon", m.epsilon());
}
absl::Status CheckFields(const v1::ReportNoisyMax& m) {
  return Positive("noise_multiplier", m.noise_multiplier());
}
absl::Status CheckFields(const v1::MixtureOfGaussians& m) {
  RETURN_IF_ERROR(Positive("standard_deviation", m.standard_deviation()));
  RETURN_IF_ERROR(NotEmpty("sensitivities", m.sensitivities_size()));
  if (m.sampling_probs_size() != m.sensitivities_size()) {
    return FieldError("sampling_probs",
                      absl::StrCat("must be as many as sensitivities (", m.sensitivities_size(),
                                   "), got ", m.sampling_probs_size()));
  }
  double sum = 0;
  for (int i = 0; i < m.sensitivities_size(); ++i) {
    RETURN_IF_ERROR(NonNegative(Element("sensitivities", i), m.sensitivities(i)));
    RETURN_IF_ERROR(Probability(Element("sampling_probs", i), m.sampling_probs(i)));
    sum += m.sampling_probs(i);
  }
  return Must(std::abs(sum - 1) <= kProbabilitySumTolerance, "sum to 1 within 1e-12",
              "sampling_probs", sum);
}
absl::Status CheckFields(const v1::TruncatedSubsampledGaussian& m) {
  RETURN_IF_ERROR(Count("dataset_size", m.dataset_size()));
  RETURN_IF_ERROR(SamplingProbability("sampling_probability", m.sampling_probability()));
  RETURN_IF_ERROR(Count("truncated_batch_size", m.truncated_batch_size()));
  return Positive("noise_multiplier", m.noise_multiplier());
}
absl::Status CheckFields(const v1::SingleEpochTreeAggregation& m) {
  RETURN_IF_ERROR(Positive("noise_multiplier", m.noise_multiplier()));
  RETURN_IF_ERROR(NotEmpty("step_counts", m.step_counts_size()));
  for (int i = 0; i < m.step_counts_size(); ++i) {
    RETURN_IF_ERROR(Count(Element("step_counts", i), m.step_counts(i)));
  }
  return absl::OkStatus();
}
absl::Status CheckFields(const v1::Participation& m) {
  RETURN_IF_ERROR(WholeIn(1, kMaxParticipations, "max_participations", m.max_participations()));
  return Count("min_separation", m.min_separation());
}
absl::Status CheckFields(const v1::CyclicPoisson& m, const v1::ToeplitzEncoder& encoder) {
  RETURN_IF_ERROR(WholeIn(1, encoder.steps(), "period", m.period()));
  RETURN_IF_ERROR(SamplingProbability("probability", m.probability()));
  const auto band = static_cast<uint64_t>(encoder.coefficients_size());
  if (m.period() >= band) return absl::OkStatus();
  return FieldError("period", absl::StrCat("must be at least the number of coefficients, ", band,
                                           ", got ", m.period()));
}
absl::Status CheckFields(const v1::BallsInBins& m, uint64_t most) {
  return WholeIn(1, most, "bins", m.bins());
}
absl::Status CheckFields(const v1::MinSeparationSampling& m, uint64_t steps) {
  RETURN_IF_ERROR(SamplingProbability("probability", m.probability()));
  return WholeIn(1, steps, "min_separation", m.min_separation());
}
absl::Status CheckFields(const v1::TreeEncoder& m) {
  switch (m.schedule_case()) {
    case v1::TreeEncoder::kParticipation:
      RETURN_IF_ERROR(Count("steps", m.steps()));
      return Within("participation", CheckFields(m.participation()));
    case v1::TreeEncoder::kBallsInBins:
      RETURN_IF_ERROR(WholeIn(1, kMaxToeplitzSteps, "steps", m.steps()));
      return Within("balls_in_bins",
                    CheckFields(m.balls_in_bins(), std::min(m.steps(), kMaxBinsOfATree)));
    case v1::TreeEncoder::SCHEDULE_NOT_SET:
      break;
  }
  return FieldError("schedule", "must be set to one of participation, balls_in_bins");
}
absl::Status CheckSchedule(const v1::ToeplitzEncoder& m) {
  switch (m.schedule_case()) {
    case v1::ToeplitzEncoder::kParticipation:
      return Within("participation", CheckFields(m.participation()));
    case v1::ToeplitzEncoder::kCyclicPoisson:
      return Within("cyclic_poisson", CheckFields(m.cyclic_poisson(), m));
    case v1::ToeplitzEncoder::kBallsInBins:
      return Within("balls_in_bins", CheckFields(m.balls_in_bins(), m.steps()));
    case v1::ToeplitzEncoder::kMinSeparationSampling:
      return Within("min_separation_sampling", CheckFields(m.min_separation_sampling(), m.steps()));
    case v1::ToeplitzEncoder::SCHEDULE_NOT_SET:
      break;
  }
  return FieldError("schedule",
                    "must be set to one of participation, cyclic_poisson, balls_in_bins, "
                    "min_separation_sampling");
}
absl::Status CheckFields(const v1::ToeplitzEncoder& m) {
  RETURN_IF_ERROR(WholeIn(1, kMaxToeplitzSteps, "steps", m.steps()));
  RETURN_IF_ERROR(
      WholeIn(1, m.steps(), "coefficients", static_cast<uint64_t>(m.coefficients_size())));
  RETURN_IF_ERROR(Positive("coefficients[0]", m.coefficients(0)));
  for (int i = 1; i < m.coefficients_size(); ++i) {
    const std::string element = Element("coefficients", i);
    RETURN_IF_ERROR(NonNegative(element, m.coefficients(i)));
    RETURN_IF_ERROR(Must(m.coefficients(i) <= m.coefficients(i - 1),
                         "not be above the one before it", element, m.coefficients(i)));
  }
  return CheckSchedule(m);
}
absl::Status CheckFields(const v1::MatrixMechanism& m) {
  RETURN_IF_ERROR(Positive("noise_stddev", m.noise_stddev()));
  if (m.noise() != v1::GAUSSIAN && m.noise() != v1::ROUNDED_GAUSSIAN) {
    return FieldError("noise", absl::StrCat("must be GAUSSIAN or ROUNDED_GAUSSIAN, got ",
                                            v1::NoiseKind_Name(m.noise())));
  }
  switch (m.encoder_case()) {
    case v1::MatrixMechanism::kSensitivity:
      return Positive("sensitivity", m.sensitivity());
    case v1::MatrixMechanism::kTree:
      return Within("tree", CheckFields(m.tree()));
    case v1::MatrixMechanism::kToeplitz:
      return Within("toeplitz", CheckFields(m.toeplitz()));
    case v1::MatrixMechanism::ENCODER_NOT_SET:
      break;
  }
  return FieldError("encoder", "must be set to one of sensitivity, tree, toeplitz");
}
absl::Status CheckFields(const v1::RenyiCurve& m) {
  RETURN_IF_ERROR(NotEmpty("orders", m.orders_size()));
  if (m.epsilons_size() != m.orders_size()) {
    return FieldError("epsilons", absl::StrCat("must be as many as orders (", m.orders_size(),
                                               "), got ", m.epsilons_size()));
  }
  double previous = 1;
  for (int i = 0; i < m.orders_size(); ++i) {
    RETURN_IF_ERROR(GreaterThan(previous, Element("orders", i), m.orders(i)));
    RETURN_IF_ERROR(NonNegativeOrInfinite(Element("epsilons", i), m.epsilons(i)));
    previous = m.orders(i);
  }
  return absl::OkStatus();
}

// ---- Nodes with a tree below: the fields beside it ----

absl::Status CheckFields(const v1::PoissonSampled& m) {
  return SamplingProbability("sampling_probability", m.sampling_probability());
}
absl::Status CheckFields(const v1::SampledWithoutReplacement& m) {
  RETURN_IF_ERROR(Count("source_dataset_size", m.source_dataset_size()));
  return WholeIn(1, m.source_dataset_size(), "sample_size", m.sample_size());
}
absl::Status CheckFields(const v1::SampledWithReplacement& m) {
  RETURN_IF_ERROR(Count("source_dataset_size", m.source_dataset_size()));
  return Count("sample_size", m.sample_size());
}
absl::Status CheckFields(const v1::RepeatAndSelect& m) {
  const bool is_poisson = std::isinf(m.shape()) && m.shape() > 0;
  RETURN_IF_ERROR(Must(is_poisson || (std::isfinite(m.shape()) && m.shape() > -1),
                       "be > -1 (infinity = Poisson)", "shape", m.shape()));
  return is_poisson ? Positive("mean", m.mean()) : AtLeast(1, "mean", m.mean());
}
absl::Status CheckFields(const v1::SelfComposed& m) { return Count("count", m.count()); }

// ---- Trees ----

template <typename Node>
absl::Status CheckTree(const Node& node, int depth) {
  RETURN_IF_ERROR(CheckFields(node));
  RETURN_IF_ERROR(MustBeSet(node.has_event(), "event"));
  return Within("event", CheckAt(node.event(), depth + 1));
}

absl::Status CheckTree(const v1::Composed& m, int depth) {
  RETURN_IF_ERROR(WholeIn(1, kMaxComposed, "events", static_cast<uint64_t>(m.events_size())));
  for (int i = 0; i < m.events_size(); ++i) {
    RETURN_IF_ERROR(Within(Element("events", i), CheckAt(m.events(i), depth + 1)));
  }
  return absl::OkStatus();
}

// Every case, and no default: a new mechanism does not compile until it has its rule here.
absl::Status CheckKind(const v1::MechanismEvent& m, int depth) {
  using Case = v1::MechanismEvent;
  switch (m.kind_case()) {
    case Case::kNoOp:
      return CheckFields(m.no_op());
    case Case::kNonPrivate:
      return CheckFields(m.non_private());
    case Case::kUnsupported:
      return CheckFields(m.unsupported());
    case Case::kGaussian:
      return CheckFields(m.gaussian());
    case Case::kLaplace:
      return CheckFields(m.laplace());
    case Case::kDiscreteLaplace:
      return CheckFields(m.discrete_laplace());
    case Case::kDiscreteGaussian:
      return CheckFields(m.discrete_gaussian());
    case Case::kRandomizedResponse:
      return CheckFields(m.randomized_response());
    case Case::kEpsilonDelta:
      return CheckFields(m.epsilon_delta());
    case Case::kZcdp:
      return CheckFields(m.zcdp());
    case Case::kExponentialMechanism:
      return CheckFields(m.exponential_mechanism());
    case Case::kPermuteAndFlip:
      return CheckFields(m.permute_and_flip());
    case Case::kReportNoisyMax:
      return CheckFields(m.report_noisy_max());
    case Case::kMixtureOfGaussians:
      return CheckFields(m.mixture_of_gaussians());
    case Case::kTruncatedSubsampledGaussian:
      return CheckFields(m.truncated_subsampled_gaussian());
    case Case::kSingleEpochTreeAggregation:
      return CheckFields(m.single_epoch_tree_aggregation());
    case Case::kMatrixMechanism:
      return CheckFields(m.matrix_mechanism());
    case Case::kRenyiCurve:
      return CheckFields(m.renyi_curve());
    case Case::kPoissonSampled:
      return CheckTree(m.poisson_sampled(), depth);
    case Case::kSampledWithoutReplacement:
      return CheckTree(m.sampled_without_replacement(), depth);
    case Case::kSampledWithReplacement:
      return CheckTree(m.sampled_with_replacement(), depth);
    case Case::kRepeatAndSelect:
      return CheckTree(m.repeat_and_select(), depth);
    case Case::kSelfComposed:
      return CheckTree(m.self_composed(), depth);
    case Case::kComposed:
      return CheckTree(m.composed(), depth);
    case Case::KIND_NOT_SET:
      break;
  }
  return absl::InternalError("a mechanism's kind was read before it was checked");
}

absl::Status CheckAt(const v1::MechanismEvent& event, int depth) {
  ASSIGN_OR_RETURN(const std::string_view name, KindOf(event));
  if (depth > kMaxDepth) {
    return FieldError(name, absl::StrCat("must be at most ", kMaxDepth, " levels deep"));
  }
  if (event.has_count()) RETURN_IF_ERROR(Count("count", event.count()));
  return Within(name, CheckKind(event, depth));
}

}  // namespace

absl::Status CheckMechanism(const v1::MechanismEvent& mechanism) { return CheckAt(mechanism, 1); }

}  // namespace dpledger::events
