// Leaves of mechanism trees.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/mechanism/resolver.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pair/sampling.h"
#include "accountant/pair/shuffled.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// Of a mixture's means, in standard deviations: their squares stay far from the ends of doubles.
constexpr double kGreatestDistance = 1e100;
// In deviations: where a loss grid may hold too little of a discrete Gaussian's losses, and its
// Rényi curve says more.
constexpr double kFarApart = 20;

// Additions for each unit of ShuffledWork.
constexpr double kShuffledStep = 3;
// Of a power of two: where there are many shuffles, their people are counted in such parts.
constexpr uint64_t kPartsOfPeople = 16;

std::string Bits(double value) { return absl::StrCat(absl::Hex(std::bit_cast<uint64_t>(value))); }

}  // namespace

absl::Status NoOp::AddTo(Resolver&, uint64_t) const { return absl::OkStatus(); }

absl::Status NonPrivate::AddTo(Resolver& resolver, uint64_t) const {
  resolver.composition().non_private = true;
  return absl::OkStatus();
}

absl::Status Unsupported::AddTo(Resolver& resolver, uint64_t) const {
  return resolver.NoAnalysis(description.empty()
                                 ? "mechanism unsupported"
                                 : absl::StrCat("mechanism unsupported (", description, ")"));
}

absl::Status Gaussian::AddTo(Resolver& resolver, uint64_t count) const {
  resolver.composition().schemes.insert("full_batch");
  resolver.composition().assumptions.insert(kFloatingPointNoise);
  JointNoise noise;
  RETURN_IF_ERROR(noise.Add({noise_multiplier, noise_multiplier}, 1));
  return resolver.AddUnsampled(noise.multiplier(), count);
}

absl::Status Laplace::AddTo(Resolver& resolver, uint64_t count) const {
  resolver.composition().assumptions.insert(kFloatingPointNoise);
  const Interval distance = resolver.Distance({noise_multiplier, noise_multiplier});
  return resolver.AddPair(absl::StrCat("laplace ", Bits(noise_multiplier)),
                          LaplacePair(distance.upper(), Bound::kUpper),
                          LaplacePair(distance.lower(), Bound::kLower), count);
}

absl::Status DiscreteLaplace::AddTo(Resolver& resolver, uint64_t count) const {
  const double factor = resolver.Distance({1, 1}).upper();
  const double shift = MulUp(static_cast<double>(sensitivity), factor);
  const std::string key =
      absl::StrCat("discrete_laplace ", Bits(noise_parameter), " ", sensitivity);
  if (shift <= static_cast<double>(kGreatestSensitivity)) {
    const auto whole = static_cast<uint64_t>(shift);
    return resolver.AddPair(key, DiscreteLaplacePair(noise_parameter, whole, Bound::kUpper),
                            DiscreteLaplacePair(noise_parameter, whole, Bound::kLower), count);
  }
  resolver.composition().warnings.insert(
      "a discrete_laplace of great shift is accounted as any ε-DP mechanism");
  return resolver.AddPair(key, EpsilonDeltaPair(MulUp(noise_parameter, shift), 0, Bound::kUpper),
                          DiscreteLaplacePair(noise_parameter, kGreatestSensitivity, Bound::kLower),
                          count);
}

absl::Status DiscreteGaussian::AddTo(Resolver& resolver, uint64_t count) const {
  const double shift = MulUp(static_cast<double>(sensitivity), resolver.Distance({1, 1}).upper());
  // Canonne, Kamath, Steinke 2020, thm. 4 and 14.
  const double ratio = DivUp(shift, sigma);
  const ZeroConcentrated concentrated{MulUp(ratio, ratio) / 2, 0};
  if (dimension == 1 && sigma <= kGreatestSigma &&
      shift <= static_cast<double>(kGreatestSensitivity)) {
    const auto whole = static_cast<uint64_t>(shift);
    const std::string key = absl::StrCat("discrete_gaussian ", Bits(sigma), " ", whole);
    RETURN_IF_ERROR(resolver.AddPair(
        key, DiscreteGaussianPair(sigma, whole, Bound::kUpper),
        DiscreteGaussianPair(sigma, whole, Bound::kLower), count,
        ratio < kFarApart ? std::nullopt : std::optional<RenyiBound>(concentrated)));
    resolver.PairAt(key).never_fails = concentrated;
    return absl::OkStatus();
  }
  return resolver.AddCurve(concentrated, count);
}

absl::Status RandomizedResponse::AddTo(Resolver& resolver, uint64_t count) const {
  if (resolver.neighbours().declared == Adjacency::kAddOrRemoveOne ||
      resolver.neighbours().adjacency == Adjacency::kAddOrRemoveOne) {
    return resolver.NoAnalysis("mechanism randomized_response");
  }
  RETURN_IF_ERROR(resolver.OnlyAsDeclared("mechanism randomized_response"));
  const Pair pair = resolver.replaces()
                        ? RandomizedResponsePair(noise_parameter, num_buckets)
                        : RandomizedResponseAgainstUniform(noise_parameter, num_buckets);
  return resolver.AddPair(
      absl::StrCat("randomized_response ", Bits(noise_parameter), " ", num_buckets), pair, pair,
      count);
}

absl::Status EpsilonDelta::AddTo(Resolver& resolver, uint64_t count) const {
  RETURN_IF_ERROR(resolver.OnlyAsDeclared("mechanism epsilon_delta"));
  if (epsilon == 0 && delta == 0) return absl::OkStatus();  // it reveals nothing
  const std::string key = absl::StrCat("epsilon_delta ", Bits(epsilon), " ", Bits(delta));
  RETURN_IF_ERROR(resolver.AddPair(key, EpsilonDeltaPair(epsilon, delta, Bound::kUpper),
                                   EpsilonDeltaPair(epsilon, delta, Bound::kLower), count));
  resolver.PairAt(key).stated = *this;
  return absl::OkStatus();
}

absl::Status ZCDp::AddTo(Resolver& resolver, uint64_t count) const {
  RETURN_IF_ERROR(resolver.OnlyAsDeclared("mechanism zcdp"));
  return resolver.AddCurve(ZeroConcentrated{rho, xi}, count, rho);
}

absl::Status RenyiCurve::AddTo(Resolver& resolver, uint64_t count) const {
  RETURN_IF_ERROR(resolver.OnlyAsDeclared("mechanism renyi_curve"));
  double rho = kInfinity;
  for (size_t i = 0; i < orders.size(); ++i) rho = std::fmin(rho, DivDown(epsilons[i], orders[i]));
  return resolver.AddCurve(OrdersCurve{orders, epsilons}, count, rho);
}

absl::Status Resolver::AddChoice(const TwoCandidates& least, double epsilon, bool ranged,
                                 uint64_t count) {
  if (epsilon == 0) return absl::OkStatus();  // it reveals nothing
  const std::string key = absl::StrCat("choice ", ranged, static_cast<int>(least.noise), " ",
                                       Bits(epsilon), " ", Bits(least.epsilon));
  const Pair upper = ranged ? BoundedRangePair(epsilon) : NoisyMaxPair(epsilon);
  const auto renyi = ranged ? std::optional<RenyiBound>(BoundedRange{epsilon}) : std::nullopt;
  RETURN_IF_ERROR(AddPair(key, upper, PairOf(least, least.epsilon / 2), count, renyi));
  composition_.pairs[pairs_[key]].choice = least;
  return absl::OkStatus();
}

absl::Status ExponentialMechanism::AddTo(Resolver& resolver, uint64_t count) const {
  RETURN_IF_ERROR(resolver.OnlyAsDeclared("mechanism exponential_mechanism"));
  return resolver.AddChoice({TwoCandidates::Noise::kGumbel, epsilon}, epsilon, true, count);
}

absl::Status PermuteAndFlip::AddTo(Resolver& resolver, uint64_t count) const {
  RETURN_IF_ERROR(resolver.OnlyAsDeclared("mechanism permute_and_flip"));
  return resolver.AddChoice({TwoCandidates::Noise::kExponential, epsilon}, epsilon, false, count);
}

// With exponential noise: permute-and-flip (Ding, Kifer, Sayed et al. 2021, arXiv 2105.07260); with
// Gumbel noise: the exponential mechanism.
absl::Status ReportNoisyMax::AddTo(Resolver& resolver, uint64_t count) const {
  resolver.composition().assumptions.insert(kFloatingPointNoise);
  const double ways = monotonic ? 1 : 2;
  const Interval distance = resolver.Distance({noise_multiplier, noise_multiplier});
  const double epsilon = MulUp(ways, distance.upper());
  const double least = MulDown(ways, distance.lower());
  const auto least_noise = noise == Noise::kExponential ? TwoCandidates::Noise::kExponential
                                                        : TwoCandidates::Noise::kGumbel;
  return resolver.AddChoice({least_noise, least}, epsilon, noise == Noise::kGumbel, count);
}

// A blank value is one of the randomizer's, so that ZERO_OUT is a replacement.
absl::Status Shuffled::AddTo(Resolver& resolver, uint64_t count) const {
  if (resolver.neighbours().declared == Adjacency::kAddOrRemoveOne ||
      resolver.neighbours().adjacency == Adjacency::kAddOrRemoveOne) {
    return resolver.NoAnalysis(
        "mechanism shuffled (the number of reports shows who is there; declare REPLACE_ONE, or "
        "ZERO_OUT)");
  }
  RETURN_IF_ERROR(resolver.OnlyAsDeclared("mechanism shuffled"));
  if (local_epsilon == 0) return absl::OkStatus();  // it reveals nothing
  const auto key_of = [this](uint64_t fewest, uint64_t most) {
    return absl::StrCat("shuffled ", Bits(local_epsilon), " ", fewest, " ", most);
  };
  const double work = kShuffledStep * ShuffledWork(local_epsilon, people);
  uint64_t fewest = people, most = people;
  if (!resolver.HasPair(key_of(people, people)) && !resolver.LeavesHalfOfTheWork(work)) {
    const uint64_t part = std::max<uint64_t>(1, std::bit_floor(people) / kPartsOfPeople);
    fewest = people / part * part;
    most = people == fewest ? people : fewest + part;
    if (fewest < people) {
      resolver.composition().warnings.insert(
          "many different shuffled events: `people` is counted in sixteenths of a power of two, a "
          "looser bound");
    }
  }
  const std::string key = key_of(fewest, most);
  if (resolver.HasPair(key)) return resolver.AddPair(key, {}, {}, count);
  RETURN_IF_ERROR(resolver.SpendWork(
      work,
      "mechanism shuffled: too many different ones; round `people` down and local_epsilon up"));
  return resolver.AddPair(key, ShuffledPair(local_epsilon, fewest, Bound::kUpper),
                          ShuffledPair(local_epsilon, most, Bound::kLower), count);
}

// Lyu, Su, Li 2017, arXiv 1603.01699, thm. 4 and 5: one threshold for all answers.
absl::Status SparseVector::AddTo(Resolver& resolver, uint64_t count) const {
  resolver.composition().assumptions.insert(kFloatingPointNoise);
  const double threshold = resolver.Distance({threshold_noise, threshold_noise}).upper();
  const double query = resolver.Distance({query_noise, query_noise}).upper();
  const double ways = (monotonic ? 1 : 2) * static_cast<double>(cutoff);  // exact
  const double epsilon = AddUp(threshold, MulUp(ways, query));
  return resolver.AddPair(absl::StrCat("sparse_vector ", Bits(epsilon)),
                          EpsilonDeltaPair(epsilon, 0, Bound::kUpper), Pair::Nothing(), count);
}

absl::Status MixtureOfGaussians::AddTo(Resolver& resolver, uint64_t count) const {
  if (resolver.replaces()) return resolver.NoAnalysis("mechanism mixture_of_gaussians");
  RETURN_IF_ERROR(resolver.OnlySingleRecords("mechanism mixture_of_gaussians"));
  resolver.composition().assumptions.insert(kFloatingPointNoise);
  std::string key = absl::StrCat("mixture ", Bits(standard_deviation));
  std::vector<double> up, down;
  for (size_t i = 0; i < sensitivities.size(); ++i) {
    const Interval distance = Quotient(sensitivities[i], standard_deviation);
    if (!(distance.upper() <= kGreatestDistance)) {
      return resolver.NoAnalysis(
          "mechanism mixture_of_gaussians with a sensitivity above 1e100 deviations");
    }
    up.push_back(distance.upper());
    down.push_back(std::fmax(0, distance.lower()));
    absl::StrAppend(&key, " ", Bits(sensitivities[i]), " ", Bits(sampling_probs[i]));
  }
  // The probabilities add up to one within 1e-12.
  return resolver.AddPair(key, MixturePair(up, sampling_probs, 2e-12, Bound::kUpper),
                          MixturePair(down, sampling_probs, 2e-12, Bound::kLower), count);
}

absl::Status TruncatedSubsampledGaussian::AddTo(Resolver& resolver, uint64_t count) const {
  JointNoise noise;
  RETURN_IF_ERROR(noise.Add({noise_multiplier, noise_multiplier}, 1));
  resolver.composition().assumptions.insert(kFloatingPointNoise);
  return resolver.AddGaussian(
      {dataset_size, TruncatedPoisson{sampling_probability, truncated_batch_size}},
      noise.multiplier(), count, "");
}

// Every record is in one leaf of one tree, and so in at most ⌈log2(k + 1)⌉ of the sums of a tree of
// k leaves (Kairouz et al. 2021, arXiv 2103.00039, app. D).
absl::Status SingleEpochTreeAggregation::AddTo(Resolver& resolver, uint64_t count) const {
  if (resolver.neighbours().adjacency == Adjacency::kAddOrRemoveOne) {
    return resolver.NoAnalysis(
        "mechanism single_epoch_tree_aggregation (removing a record shifts the others; declare "
        "ZERO_OUT or REPLACE_ONE)");
  }
  resolver.composition().assumptions.insert(kFloatingPointNoise);
  const uint64_t most = *std::max_element(step_counts.begin(), step_counts.end());
  JointNoise noise;
  RETURN_IF_ERROR(
      noise.Add({noise_multiplier, noise_multiplier}, static_cast<uint64_t>(std::bit_width(most))));
  return resolver.AddUnsampled(noise.multiplier(), count);
}

}  // namespace dpledger::accountant
