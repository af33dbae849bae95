// Leaves of mechanism trees.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/mechanism/resolver.h"
#include "accountant/mechanism/sampling.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// Of a mixture's means, in standard deviations: their squares stay far from the ends of doubles.
constexpr double kGreatestDistance = 1e100;
// In deviations: where a loss grid may hold too little of a discrete Gaussian's losses, and its
// Rényi curve says more.
constexpr double kFarApart = 20;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string Bits(double value) { return absl::StrCat(absl::Hex(std::bit_cast<uint64_t>(value))); }

}  // namespace

absl::Status Resolver::Add(const NoOp&, uint64_t) { return absl::OkStatus(); }

absl::Status Resolver::Add(const NonPrivate&, uint64_t) {
  composition_.non_private = true;
  return absl::OkStatus();
}

absl::Status Resolver::Add(const Unsupported& m, uint64_t) {
  return NoAnalysis(m.description.empty()
                        ? "mechanism unsupported"
                        : absl::StrCat("mechanism unsupported (", m.description, ")"));
}

absl::Status Resolver::Add(const Gaussian& m, uint64_t count) {
  composition_.schemes.insert("full_batch");
  composition_.assumptions.insert(kFloatingPointNoise);
  JointNoise noise;
  RETURN_IF_ERROR(noise.Add({m.noise_multiplier, m.noise_multiplier}, 1));
  return AddUnsampled(noise.multiplier(), count);
}

absl::Status Resolver::Add(const Laplace& m, uint64_t count) {
  composition_.assumptions.insert(kFloatingPointNoise);
  const Interval distance = Distance({m.noise_multiplier, m.noise_multiplier});
  return AddPair(absl::StrCat("laplace ", Bits(m.noise_multiplier)),
                 LaplacePair(distance.upper(), Bound::kUpper),
                 LaplacePair(distance.lower(), Bound::kLower), count);
}

absl::Status Resolver::Add(const DiscreteLaplace& m, uint64_t count) {
  const double factor = Distance({1, 1}).upper();
  const double sensitivity = MulUp(static_cast<double>(m.sensitivity), factor);
  const std::string key =
      absl::StrCat("discrete_laplace ", Bits(m.noise_parameter), " ", m.sensitivity);
  if (sensitivity <= static_cast<double>(kGreatestSensitivity)) {
    const auto whole = static_cast<uint64_t>(sensitivity);
    return AddPair(key, DiscreteLaplacePair(m.noise_parameter, whole, Bound::kUpper),
                   DiscreteLaplacePair(m.noise_parameter, whole, Bound::kLower), count);
  }
  composition_.warnings.insert(
      "a discrete_laplace of great sensitivity is accounted as any ε-DP mechanism");
  return AddPair(key, EpsilonDeltaPair(MulUp(m.noise_parameter, sensitivity), 0, Bound::kUpper),
                 DiscreteLaplacePair(m.noise_parameter, kGreatestSensitivity, Bound::kLower),
                 count);
}

absl::Status Resolver::Add(const DiscreteGaussian& m, uint64_t count) {
  const double sensitivity = MulUp(static_cast<double>(m.sensitivity), Distance({1, 1}).upper());
  // Canonne, Kamath, Steinke 2020, thm. 4 and 14.
  const double ratio = DivUp(sensitivity, m.sigma);
  const ZeroConcentrated concentrated{MulUp(ratio, ratio) / 2, 0};
  if (m.dimension == 1 && m.sigma <= kGreatestSigma &&
      sensitivity <= static_cast<double>(kGreatestSensitivity)) {
    const auto whole = static_cast<uint64_t>(sensitivity);
    return AddPair(absl::StrCat("discrete_gaussian ", Bits(m.sigma), " ", whole),
                   DiscreteGaussianPair(m.sigma, whole, Bound::kUpper),
                   DiscreteGaussianPair(m.sigma, whole, Bound::kLower), count,
                   ratio < kFarApart ? std::nullopt : std::optional<RenyiBound>(concentrated));
  }
  return AddCurve(concentrated, count);
}

absl::Status Resolver::Add(const RandomizedResponse& m, uint64_t count) {
  if (neighbours_.declared == Adjacency::kAddOrRemoveOne ||
      neighbours_.adjacency == Adjacency::kAddOrRemoveOne) {
    return NoAnalysis("mechanism randomized_response");
  }
  RETURN_IF_ERROR(OnlyAsDeclared("mechanism randomized_response"));
  const Pair pair = replaces() ? RandomizedResponsePair(m.noise_parameter, m.num_buckets)
                               : RandomizedResponseAgainstUniform(m.noise_parameter, m.num_buckets);
  return AddPair(absl::StrCat("randomized_response ", Bits(m.noise_parameter), " ", m.num_buckets),
                 pair, pair, count);
}

absl::Status Resolver::Add(const EpsilonDelta& m, uint64_t count) {
  RETURN_IF_ERROR(OnlyAsDeclared("mechanism epsilon_delta"));
  if (m.epsilon == 0 && m.delta == 0) return absl::OkStatus();  // it reveals nothing
  const std::string key = absl::StrCat("epsilon_delta ", Bits(m.epsilon), " ", Bits(m.delta));
  RETURN_IF_ERROR(AddPair(key, EpsilonDeltaPair(m.epsilon, m.delta, Bound::kUpper),
                          EpsilonDeltaPair(m.epsilon, m.delta, Bound::kLower), count));
  composition_.pairs[pairs_.at(key)].stated = m;
  return absl::OkStatus();
}

absl::Status Resolver::Add(const ZCDp& m, uint64_t count) {
  RETURN_IF_ERROR(OnlyAsDeclared("mechanism zcdp"));
  return AddCurve(ZeroConcentrated{m.rho, m.xi}, count, m.rho);
}

absl::Status Resolver::Add(const RenyiCurve& m, uint64_t count) {
  RETURN_IF_ERROR(OnlyAsDeclared("mechanism renyi_curve"));
  double rho = kInfinity;
  for (size_t i = 0; i < m.orders.size(); ++i)
    rho = std::fmin(rho, DivDown(m.epsilons[i], m.orders[i]));
  return AddCurve(OrdersCurve{m.orders, m.epsilons}, count, rho);
}

absl::Status Resolver::AddChoice(const TwoCandidates& least, double epsilon, bool ranged,
                                 uint64_t count) {
  const std::string key = absl::StrCat("choice ", ranged, static_cast<int>(least.noise), " ",
                                       Bits(epsilon), " ", Bits(least.epsilon));
  const Pair upper = ranged ? BoundedRangePair(epsilon) : NoisyMaxPair(epsilon);
  const auto renyi = ranged ? std::optional<RenyiBound>(BoundedRange{epsilon}) : std::nullopt;
  RETURN_IF_ERROR(AddPair(key, upper, PairOf(least, least.epsilon / 2), count, renyi));
  composition_.pairs[pairs_[key]].choice = least;
  return absl::OkStatus();
}

absl::Status Resolver::Add(const ExponentialMechanism& m, uint64_t count) {
  RETURN_IF_ERROR(OnlyAsDeclared("mechanism exponential_mechanism"));
  return AddChoice({TwoCandidates::Noise::kGumbel, m.epsilon}, m.epsilon, true, count);
}

absl::Status Resolver::Add(const PermuteAndFlip& m, uint64_t count) {
  RETURN_IF_ERROR(OnlyAsDeclared("mechanism permute_and_flip"));
  return AddChoice({TwoCandidates::Noise::kExponential, m.epsilon}, m.epsilon, false, count);
}

// With exponential noise: permute-and-flip (Ding, Kifer, Sayed et al. 2021, arXiv 2105.07260); with
// Gumbel noise: the exponential mechanism.
absl::Status Resolver::Add(const ReportNoisyMax& m, uint64_t count) {
  composition_.assumptions.insert(kFloatingPointNoise);
  const double ways = m.monotonic ? 1 : 2;
  const Interval distance = Distance({m.noise_multiplier, m.noise_multiplier});
  const double epsilon = MulUp(ways, distance.upper());
  const double least = MulDown(ways, distance.lower());
  using Noise = TwoCandidates::Noise;
  const bool exponential = m.noise == ReportNoisyMax::Noise::kExponential;
  return AddChoice({exponential ? Noise::kExponential : Noise::kGumbel, least}, epsilon,
                   m.noise == ReportNoisyMax::Noise::kGumbel, count);
}

absl::Status Resolver::Add(const MixtureOfGaussians& m, uint64_t count) {
  if (replaces()) return NoAnalysis("mechanism mixture_of_gaussians");
  RETURN_IF_ERROR(OnlySingleRecords("mechanism mixture_of_gaussians"));
  composition_.assumptions.insert(kFloatingPointNoise);
  std::string key = absl::StrCat("mixture ", Bits(m.standard_deviation));
  std::vector<double> up, down;
  for (size_t i = 0; i < m.sensitivities.size(); ++i) {
    const Interval distance = Quotient(m.sensitivities[i], m.standard_deviation);
    if (!(distance.upper() <= kGreatestDistance)) {
      return NoAnalysis("mechanism mixture_of_gaussians with a sensitivity above 1e100 deviations");
    }
    up.push_back(distance.upper());
    down.push_back(std::fmax(0, distance.lower()));
    absl::StrAppend(&key, " ", Bits(m.sensitivities[i]), " ", Bits(m.sampling_probs[i]));
  }
  // The probabilities add up to one within 1e-12.
  return AddPair(key, MixturePair(up, m.sampling_probs, 2e-12, Bound::kUpper),
                 MixturePair(down, m.sampling_probs, 2e-12, Bound::kLower), count);
}

absl::Status Resolver::Add(const TruncatedSubsampledGaussian& m, uint64_t count) {
  JointNoise noise;
  RETURN_IF_ERROR(noise.Add({m.noise_multiplier, m.noise_multiplier}, 1));
  composition_.assumptions.insert(kFloatingPointNoise);
  return AddGaussian(
      {m.dataset_size, TruncatedPoisson{m.sampling_probability, m.truncated_batch_size}},
      noise.multiplier(), count, "");
}

// Every record is in one leaf of one tree, and so in at most ⌈log2(k + 1)⌉ of the sums of a tree of
// k leaves (Kairouz et al. 2021, arXiv 2103.00039, app. D).
absl::Status Resolver::Add(const SingleEpochTreeAggregation& m, uint64_t count) {
  if (neighbours_.adjacency == Adjacency::kAddOrRemoveOne) {
    return NoAnalysis(
        "mechanism single_epoch_tree_aggregation (removing a record shifts the others; declare "
        "ZERO_OUT or REPLACE_ONE)");
  }
  composition_.assumptions.insert(kFloatingPointNoise);
  const uint64_t most = *std::max_element(m.step_counts.begin(), m.step_counts.end());
  JointNoise noise;
  RETURN_IF_ERROR(noise.Add({m.noise_multiplier, m.noise_multiplier},
                            static_cast<uint64_t>(std::bit_width(most))));
  return AddUnsampled(noise.multiplier(), count);
}

}  // namespace dpledger::accountant
