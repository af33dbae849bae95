#include "accountant/from_proto/mechanism_from_proto.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/from_proto/field_checks.h"

namespace dpledger::accountant {
namespace {

constexpr int kMaxDepth = 32;       // levels of MechanismEvent
constexpr int kMaxComposed = 4096;  // events in one Composed
constexpr size_t kMaxDescription = 1024;
constexpr uint64_t kMaxParticipations = 1024;
constexpr uint64_t kMaxToeplitzSteps = 1 << 16;
constexpr double kProbabilitySumTolerance = 1e-12;

absl::StatusOr<Mechanism> Convert(const v1::MechanismEvent& event, int depth);

// ---- Leaves: fields only ----

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
absl::Status CheckFields(const v1::TreeEncoder& m) {
  RETURN_IF_ERROR(Count("steps", m.steps()));
  RETURN_IF_ERROR(MustBeSet(m.has_participation(), "participation"));
  return Within("participation", CheckFields(m.participation()));
}
absl::Status CheckFields(const v1::ToeplitzEncoder& m) {
  RETURN_IF_ERROR(WholeIn(1, kMaxToeplitzSteps, "steps", m.steps()));
  RETURN_IF_ERROR(MustBeSet(m.has_participation(), "participation"));
  RETURN_IF_ERROR(Within("participation", CheckFields(m.participation())));
  RETURN_IF_ERROR(
      WholeIn(1, m.steps(), "coefficients", static_cast<uint64_t>(m.coefficients_size())));
  RETURN_IF_ERROR(Positive("coefficients[0]", m.coefficients(0)));
  for (int i = 1; i < m.coefficients_size(); ++i) {
    const std::string element = Element("coefficients", i);
    RETURN_IF_ERROR(NonNegative(element, m.coefficients(i)));
    RETURN_IF_ERROR(Must(m.coefficients(i) <= m.coefficients(i - 1),
                         "not be above the one before it", element, m.coefficients(i)));
  }
  return absl::OkStatus();
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

// The tree below a node, as the one element that its value holds.
template <typename Node>
absl::StatusOr<std::vector<Mechanism>> TreeBelow(const Node& node, int depth) {
  RETURN_IF_ERROR(MustBeSet(node.has_event(), "event"));
  ASSIGN_OR_RETURN(Mechanism tree, Within("event", Convert(node.event(), depth + 1)));
  std::vector<Mechanism> only;
  only.push_back(std::move(tree));
  return only;
}

absl::StatusOr<Composed> ConvertComposed(const v1::Composed& m, int depth) {
  RETURN_IF_ERROR(WholeIn(1, kMaxComposed, "events", m.events_size()));
  Composed composed;
  for (int i = 0; i < m.events_size(); ++i) {
    ASSIGN_OR_RETURN(Mechanism event,
                     Within(Element("events", i), Convert(m.events(i), depth + 1)));
    composed.events.push_back(std::move(event));
  }
  return composed;
}

// ---- Every case ----

using Kind = decltype(Mechanism::kind);
using Case = v1::MechanismEvent::KindCase;

template <typename Field>
std::vector<typename Field::value_type> ToVector(const Field& field) {
  return {field.begin(), field.end()};
}

// ---- Leaves as values; their fields have been checked ----

Kind ValueOf(const v1::Unsupported& m) { return Unsupported{m.description()}; }
Kind ValueOf(const v1::Gaussian& m) { return Gaussian{m.noise_multiplier()}; }
Kind ValueOf(const v1::Laplace& m) { return Laplace{m.noise_multiplier()}; }
Kind ValueOf(const v1::DiscreteLaplace& m) {
  return DiscreteLaplace{m.noise_parameter(), m.sensitivity()};
}
Kind ValueOf(const v1::DiscreteGaussian& m) {
  return DiscreteGaussian{m.sigma(), m.sensitivity(), m.dimension()};
}
Kind ValueOf(const v1::RandomizedResponse& m) {
  return RandomizedResponse{m.noise_parameter(), m.num_buckets()};
}
Kind ValueOf(const v1::EpsilonDelta& m) { return EpsilonDelta{m.epsilon(), m.delta()}; }
Kind ValueOf(const v1::ZCDp& m) { return ZCDp{m.rho(), m.xi()}; }
Kind ValueOf(const v1::ExponentialMechanism& m) { return ExponentialMechanism{m.epsilon()}; }
Kind ValueOf(const v1::PermuteAndFlip& m) { return PermuteAndFlip{m.epsilon()}; }
Kind ValueOf(const v1::ReportNoisyMax& m) {
  using Noise = ReportNoisyMax::Noise;
  return ReportNoisyMax{m.noise_multiplier(),
                        m.noise() == v1::LAPLACE_NOISE       ? Noise::kLaplace
                        : m.noise() == v1::EXPONENTIAL_NOISE ? Noise::kExponential
                                                             : Noise::kGumbel,
                        m.monotonic()};
}
Kind ValueOf(const v1::MixtureOfGaussians& m) {
  return MixtureOfGaussians{m.standard_deviation(), ToVector(m.sensitivities()),
                            ToVector(m.sampling_probs())};
}
Kind ValueOf(const v1::TruncatedSubsampledGaussian& m) {
  return TruncatedSubsampledGaussian{m.dataset_size(), m.sampling_probability(),
                                     m.truncated_batch_size(), m.noise_multiplier()};
}
Kind ValueOf(const v1::SingleEpochTreeAggregation& m) {
  return SingleEpochTreeAggregation{m.noise_multiplier(), ToVector(m.step_counts())};
}
Participation ValueOf(const v1::Participation& m) {
  return {m.max_participations(), m.min_separation()};
}
Kind ValueOf(const v1::MatrixMechanism& m) {
  MatrixMechanism value{
      m.sensitivity(), m.noise_stddev(),
      m.noise() == v1::ROUNDED_GAUSSIAN ? NoiseKind::kRoundedGaussian : NoiseKind::kGaussian};
  if (m.has_tree())
    value.encoder = TreeEncoder{m.tree().steps(), ValueOf(m.tree().participation())};
  if (m.has_toeplitz()) {
    value.encoder = ToeplitzEncoder{m.toeplitz().steps(), ToVector(m.toeplitz().coefficients()),
                                    ValueOf(m.toeplitz().participation())};
  }
  return value;
}
Kind ValueOf(const v1::RenyiCurve& m) {
  return RenyiCurve{ToVector(m.orders()), ToVector(m.epsilons())};
}

template <typename Leaf>
absl::StatusOr<Kind> ConvertLeaf(const Leaf& leaf) {
  RETURN_IF_ERROR(CheckFields(leaf));
  return ValueOf(leaf);
}

// ---- Nodes as values, the tree below given ----

Kind ValueOf(const v1::PoissonSampled& m, std::vector<Mechanism> tree) {
  return PoissonSampled{m.sampling_probability(), std::move(tree)};
}
Kind ValueOf(const v1::SampledWithoutReplacement& m, std::vector<Mechanism> tree) {
  return SampledWithoutReplacement{m.source_dataset_size(), m.sample_size(), std::move(tree)};
}
Kind ValueOf(const v1::SampledWithReplacement& m, std::vector<Mechanism> tree) {
  return SampledWithReplacement{m.source_dataset_size(), m.sample_size(), std::move(tree)};
}
Kind ValueOf(const v1::RepeatAndSelect& m, std::vector<Mechanism> tree) {
  return RepeatAndSelect{std::move(tree), m.mean(), m.shape()};
}
Kind ValueOf(const v1::SelfComposed& m, std::vector<Mechanism> tree) {
  return SelfComposed{std::move(tree), m.count()};
}

template <typename Node>
absl::StatusOr<Kind> ConvertNode(const Node& node, int depth) {
  RETURN_IF_ERROR(CheckFields(node));
  ASSIGN_OR_RETURN(std::vector<Mechanism> tree, TreeBelow(node, depth));
  return ValueOf(node, std::move(tree));
}

absl::StatusOr<Kind> ConvertKind(const v1::MechanismEvent& m, int depth) {
  switch (m.kind_case()) {
    case Case::kNoOp:
      return NoOp{};
    case Case::kNonPrivate:
      return NonPrivate{};
    case Case::kUnsupported:
      return ConvertLeaf(m.unsupported());
    case Case::kGaussian:
      return ConvertLeaf(m.gaussian());
    case Case::kLaplace:
      return ConvertLeaf(m.laplace());
    case Case::kDiscreteLaplace:
      return ConvertLeaf(m.discrete_laplace());
    case Case::kDiscreteGaussian:
      return ConvertLeaf(m.discrete_gaussian());
    case Case::kRandomizedResponse:
      return ConvertLeaf(m.randomized_response());
    case Case::kEpsilonDelta:
      return ConvertLeaf(m.epsilon_delta());
    case Case::kZcdp:
      return ConvertLeaf(m.zcdp());
    case Case::kExponentialMechanism:
      return ConvertLeaf(m.exponential_mechanism());
    case Case::kPermuteAndFlip:
      return ConvertLeaf(m.permute_and_flip());
    case Case::kReportNoisyMax:
      return ConvertLeaf(m.report_noisy_max());
    case Case::kMixtureOfGaussians:
      return ConvertLeaf(m.mixture_of_gaussians());
    case Case::kTruncatedSubsampledGaussian:
      return ConvertLeaf(m.truncated_subsampled_gaussian());
    case Case::kSingleEpochTreeAggregation:
      return ConvertLeaf(m.single_epoch_tree_aggregation());
    case Case::kMatrixMechanism:
      return ConvertLeaf(m.matrix_mechanism());
    case Case::kRenyiCurve:
      return ConvertLeaf(m.renyi_curve());
    case Case::kPoissonSampled:
      return ConvertNode(m.poisson_sampled(), depth);
    case Case::kSampledWithoutReplacement:
      return ConvertNode(m.sampled_without_replacement(), depth);
    case Case::kSampledWithReplacement:
      return ConvertNode(m.sampled_with_replacement(), depth);
    case Case::kRepeatAndSelect:
      return ConvertNode(m.repeat_and_select(), depth);
    case Case::kSelfComposed:
      return ConvertNode(m.self_composed(), depth);
    case Case::kComposed: {
      ASSIGN_OR_RETURN(Composed composed, ConvertComposed(m.composed(), depth));
      return composed;
    }
    case Case::KIND_NOT_SET:
      break;
  }
  return absl::InternalError("a mechanism's kind was read before it was checked");
}

absl::StatusOr<Mechanism> Convert(const v1::MechanismEvent& event, int depth) {
  ASSIGN_OR_RETURN(const std::string_view name, KindOf(event));
  if (depth > kMaxDepth) {
    return FieldError(name, absl::StrCat("must be at most ", kMaxDepth, " levels deep"));
  }
  Mechanism mechanism;
  if (event.has_count()) {
    RETURN_IF_ERROR(Count("count", event.count()));
    mechanism.count = event.count();
  }
  ASSIGN_OR_RETURN(mechanism.kind, Within(name, ConvertKind(event, depth)));
  return mechanism;
}

}  // namespace

absl::StatusOr<Mechanism> MechanismFromProto(const v1::MechanismEvent& event) {
  return Convert(event, 1);
}

}  // namespace dpledger::accountant
