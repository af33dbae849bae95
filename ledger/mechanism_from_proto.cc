#include "ledger/mechanism_from_proto.h"

#include <utility>
#include <vector>

namespace dpledger::accountant {
namespace {

using Kind = decltype(Mechanism::kind);

template <typename Field>
std::vector<typename Field::value_type> ToVector(const Field& field) {
  return {field.begin(), field.end()};
}

// The tree below a node is one event, as the one element that its value holds.
template <typename Node>
std::vector<Mechanism> TreeBelow(const Node& node) {
  std::vector<Mechanism> only;
  only.push_back(MechanismFromProto(node.event()));
  return only;
}

// ---- Leaves ----

Kind ValueOf(const v1::NoOp&) { return NoOp{}; }
Kind ValueOf(const v1::NonPrivate&) { return NonPrivate{}; }
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
CyclicPoisson ValueOf(const v1::CyclicPoisson& m) {
  return {m.period(), m.probability(), m.groups() == v1::GROUPS_DRAWN_ONE_BY_ONE};
}
TreeEncoder ValueOf(const v1::TreeEncoder& m) {
  if (m.has_balls_in_bins()) return {m.steps(), BallsInBins{m.balls_in_bins().bins()}};
  return {m.steps(), ValueOf(m.participation())};
}
ToeplitzEncoder ValueOf(const v1::ToeplitzEncoder& m) {
  ToeplitzEncoder value{m.steps(), ToVector(m.coefficients()), ValueOf(m.participation())};
  if (m.has_cyclic_poisson()) value.schedule = ValueOf(m.cyclic_poisson());
  if (m.has_balls_in_bins()) value.schedule = BallsInBins{m.balls_in_bins().bins()};
  if (m.has_min_separation_sampling()) {
    const v1::MinSeparationSampling& sampling = m.min_separation_sampling();
    value.schedule = MinSeparationSampling{sampling.probability(), sampling.min_separation()};
  }
  return value;
}
Kind ValueOf(const v1::MatrixMechanism& m) {
  MatrixMechanism value{
      m.sensitivity(), m.noise_stddev(),
      m.noise() == v1::ROUNDED_GAUSSIAN ? NoiseKind::kRoundedGaussian : NoiseKind::kGaussian};
  if (m.has_tree()) value.encoder = ValueOf(m.tree());
  if (m.has_toeplitz()) value.encoder = ValueOf(m.toeplitz());
  return value;
}
Kind ValueOf(const v1::RenyiCurve& m) {
  return RenyiCurve{ToVector(m.orders()), ToVector(m.epsilons())};
}

// ---- Nodes with a tree below ----

Kind ValueOf(const v1::PoissonSampled& m) {
  return PoissonSampled{m.sampling_probability(), TreeBelow(m)};
}
Kind ValueOf(const v1::SampledWithoutReplacement& m) {
  return SampledWithoutReplacement{m.source_dataset_size(), m.sample_size(), TreeBelow(m)};
}
Kind ValueOf(const v1::SampledWithReplacement& m) {
  return SampledWithReplacement{m.source_dataset_size(), m.sample_size(), TreeBelow(m)};
}
Kind ValueOf(const v1::RepeatAndSelect& m) {
  return RepeatAndSelect{TreeBelow(m), m.mean(), m.shape()};
}
Kind ValueOf(const v1::SelfComposed& m) { return SelfComposed{TreeBelow(m), m.count()}; }
Kind ValueOf(const v1::Composed& m) {
  Composed composed;
  for (const v1::MechanismEvent& event : m.events()) {
    composed.events.push_back(MechanismFromProto(event));
  }
  return composed;
}

// Every case, and no default: a new mechanism does not compile until it has a value.
Kind ValueOfKind(const v1::MechanismEvent& m) {
  using Case = v1::MechanismEvent;
  switch (m.kind_case()) {
    case Case::kNoOp:
      return ValueOf(m.no_op());
    case Case::kNonPrivate:
      return ValueOf(m.non_private());
    case Case::kUnsupported:
      return ValueOf(m.unsupported());
    case Case::kGaussian:
      return ValueOf(m.gaussian());
    case Case::kLaplace:
      return ValueOf(m.laplace());
    case Case::kDiscreteLaplace:
      return ValueOf(m.discrete_laplace());
    case Case::kDiscreteGaussian:
      return ValueOf(m.discrete_gaussian());
    case Case::kRandomizedResponse:
      return ValueOf(m.randomized_response());
    case Case::kEpsilonDelta:
      return ValueOf(m.epsilon_delta());
    case Case::kZcdp:
      return ValueOf(m.zcdp());
    case Case::kExponentialMechanism:
      return ValueOf(m.exponential_mechanism());
    case Case::kPermuteAndFlip:
      return ValueOf(m.permute_and_flip());
    case Case::kReportNoisyMax:
      return ValueOf(m.report_noisy_max());
    case Case::kMixtureOfGaussians:
      return ValueOf(m.mixture_of_gaussians());
    case Case::kTruncatedSubsampledGaussian:
      return ValueOf(m.truncated_subsampled_gaussian());
    case Case::kSingleEpochTreeAggregation:
      return ValueOf(m.single_epoch_tree_aggregation());
    case Case::kMatrixMechanism:
      return ValueOf(m.matrix_mechanism());
    case Case::kRenyiCurve:
      return ValueOf(m.renyi_curve());
    case Case::kPoissonSampled:
      return ValueOf(m.poisson_sampled());
    case Case::kSampledWithoutReplacement:
      return ValueOf(m.sampled_without_replacement());
    case Case::kSampledWithReplacement:
      return ValueOf(m.sampled_with_replacement());
    case Case::kRepeatAndSelect:
      return ValueOf(m.repeat_and_select());
    case Case::kSelfComposed:
      return ValueOf(m.self_composed());
    case Case::kComposed:
      return ValueOf(m.composed());
    case Case::KIND_NOT_SET:  // refused by events::CheckEvent
      break;
  }
  return Unsupported{"a mechanism of no kind"};
}

}  // namespace

Mechanism MechanismFromProto(const v1::MechanismEvent& event) {
  return {event.has_count() ? event.count() : 1, ValueOfKind(event)};
}

}  // namespace dpledger::accountant
