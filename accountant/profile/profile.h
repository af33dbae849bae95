// More of the privacy profile than one number: the ε-δ curve, the trade-off curve of an attacker's
// error rates, advantage, success at a prior, and the Gaussian mechanism that stands for it.
// Everything is an interval that contains the true value of what the composition describes, from
// the accountant's own δ(ε) and ε(δ). Claim and derivations: profile/CLAIM.md.
//
// Functions are pure and thread safe. All check `options.limits` between points.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "accountant/accountant.h"
#include "accountant/profile/gaussian_fit.h"

namespace dpledger::accountant::profile {

// Of one question: ε's, δ's, error rates or priors.
inline constexpr size_t kGreatestPoints = 1000;

// How the numbers were come by: the methods that answered, in the order met, and each warning once.
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

// δ at each of `epsilons`, each finite and >= 0; ε at each of `deltas`, each in (0, 1).
// INVALID_ARGUMENT naming the element ("epsilons[3]: …"), or for more than kGreatestPoints.
absl::StatusOr<Curve> DeltasAt(const Composition& composition, const std::vector<double>& epsilons,
                               const Options& options);
absl::StatusOr<Curve> EpsilonsAt(const Composition& composition, const std::vector<double>& deltas,
                                 const Options& options);

// The least type II error β of a test of type I error α. Remove: the null hypothesis is that the
// record is out (α: a false alarm that it is in); add: that it is in. Symmetric: the attacker may
// have either, the largest convex curve below both.
struct ErrorRates {
  double type_one;
  Interval remove, add, symmetric;
};
struct TradeOff {
  std::vector<ErrorRates> points;
  Origin origin;
};

// f at each of `type_one_errors`, each in [0, 1]. 1 - f(α) is also the true positive rate at false
// positive rate α, and bounds the success of reconstructing a record that is guessed without the
// output with probability α.
absl::StatusOr<TradeOff> ComputeTradeOff(const Composition& composition,
                                         const std::vector<double>& type_one_errors,
                                         const Options& options);

// The most that a test's true positive rate exceeds its false positive rate: δ(0), the total
// variation distance. In [0, 1].
absl::StatusOr<Answer> ComputeAdvantage(const Composition& composition, const Options& options);

// The chance that the best attacker tells rightly which of two neighbouring inputs it was, when one
// had `prior` in (0, 1) beforehand; the larger over which one.
absl::StatusOr<Curve> ComputeBayesSuccess(const Composition& composition,
                                          const std::vector<double>& priors,
                                          const Options& options);

// The Gaussian mechanism that stands for the composition where δ is from least_delta, in (0,
// kGreatestFitDelta), to δ(0) or kGreatestFitDelta. μ is 0 if δ(0) is less already, infinite if no
// ε has δ so small.
inline constexpr double kGreatestFitDelta = 0.99;
struct GaussianSummary {
  GaussianFit fit;
  Origin origin;
};
absl::StatusOr<GaussianSummary> ComputeGaussianFit(const Composition& composition,
                                                   double least_delta, const Options& options);

}  // namespace dpledger::accountant::profile
