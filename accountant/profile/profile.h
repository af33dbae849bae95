// The privacy profile: the ε-δ curve, the trade-off curve of an attacker's error rates, advantage,
// success at a prior, and the Gaussian mechanism that summarises it. Every value is an interval
// that contains the true value for the composition, computed from the accountant's δ(ε) and ε(δ).
// Claim and derivations: profile/CLAIM.md.
//
// Functions are pure and thread safe. All check `options.limits` between points.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "accountant/accountant.h"
#include "accountant/profile/gaussian_fit.h"

namespace dpledger::accountant::profile {

// The most ε's, δ's, error rates or priors in one question.
inline constexpr size_t kGreatestPoints = 1000;

// The methods that answered, in order of first use, and each warning once.
struct Origin {
  std::vector<Method> methods;
  std::vector<std::string> warnings;
  void Add(const Answer& answer);
  void Add(const Origin& other);
};

struct Curve {
  std::vector<Interval> values;  // for the ε's or δ's asked for, in their order
  Origin origin;
};

// δ at each of `epsilons`, each finite and >= 0; ε at each of `deltas`, each in [0, 1).
// INVALID_ARGUMENT naming the element ("epsilons[3]: …"), or for more than kGreatestPoints.
absl::StatusOr<Curve> DeltasAt(const Composition& composition, const std::vector<double>& epsilons,
                               const Options& options);
absl::StatusOr<Curve> EpsilonsAt(const Composition& composition, const std::vector<double>& deltas,
                                 const Options& options);

// The least type II error β of a test of type I error α. Remove: the null hypothesis is that the
// record is out, so α is the rate of false alarms that it is in; add: that the record is in.
// Symmetric: the attacker may choose either; the largest convex curve below both.
struct ErrorRates {
  double type_one;
  Interval remove, add, symmetric;
};
struct TradeOff {
  std::vector<ErrorRates> points;
  Origin origin;
};

// f at each of `type_one_errors`, each in [0, 1]. 1 - f(α) is also the greatest true positive rate
// at false positive rate α. It bounds the probability of reconstructing a record that an attacker
// guesses with probability α without the output.
absl::StatusOr<TradeOff> ComputeTradeOff(const Composition& composition,
                                         const std::vector<double>& type_one_errors,
                                         const Options& options);

// Membership advantage: the greatest difference between a test's true and false positive rates. It
// is δ(0), the total variation distance, in [0, 1].
absl::StatusOr<Answer> ComputeAdvantage(const Composition& composition, const Options& options);

// The probability that the best attacker tells rightly which of two neighbouring data sets it was,
// if one of them had prior probability `prior` in (0, 1); the larger over which of the two.
absl::StatusOr<Curve> ComputeBayesSuccess(const Composition& composition,
                                          const std::vector<double>& priors,
                                          const Options& options);

// The Gaussian mechanism that dominates the composition for δ from least_delta, in (0,
// kGreatestFitDelta), up to δ(0) or kGreatestFitDelta, whichever is less. μ is 0 if δ(0) <
// least_delta, infinite if δ(ε) > least_delta for every ε.
inline constexpr double kGreatestFitDelta = 0.99;
struct GaussianSummary {
  GaussianFit fit;
  Origin origin;
};
absl::StatusOr<GaussianSummary> ComputeGaussianFit(const Composition& composition,
                                                   double least_delta, const Options& options);

}  // namespace dpledger::accountant::profile
