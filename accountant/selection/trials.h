// The law of the number of runs K whose best result is released, as private selection needs it.
//
// A run's result has the distribution Q, ordered by quality. The best of K runs has the density
// g(x) with respect to Q at a result that a share x of Q is better than, where g(x) = f'(1 - x) and
// f(y) = E[y^K]. g is decreasing and convex (f' is a power series with positive coefficients), and
// g(0) = E[K].
#pragma once

#include "absl/status/status.h"
#include "accountant/accountant.h"

namespace dpledger::accountant::selection {

// INVALID_ARGUMENT naming the field, as in the proto's Trials.
absl::Status CheckTrials(const Trials& trials);

// The truncated negative binomial distribution D_{η,γ} (Papernot and Steinke 2021, arXiv
// 2110.03620, def. 1): log(1/γ) for which its mean is `mean`, rounded up (a larger value costs
// more). η > -1, mean > 1.
double LogInverseGamma(double eta, double mean);

// P(K <= 1), relative error below 1e-9. Not for LeastCostTrials.
double AtMostOneProbability(const Trials& trials);

// A point of [0, 1] and its distance to 1, each with its own digits.
struct Share {
  double x, rest;

  static Share At(double x) { return {x, 1 - x}; }
  static Share FromTop(double rest) { return {1 - rest, rest}; }
};

class TrialLaw {
 public:
  static TrialLaw NegativeBinomial(double eta, double mean);
  static TrialLaw Poisson(double mean);
  // n runs, each carried out with probability p in (0, 1]; p = 1 is the fixed number n.
  static TrialLaw Binomial(uint64_t n, double p);
  // Not for LeastCostTrials. Precondition: CheckTrials.
  static TrialLaw Of(const Trials& trials);

  // log g(x), and a bound on its error. -infinity where g vanishes.
  struct Bounded {
    double value, error;
  };
  Bounded LogWeight(const Share& at) const;
  double WeightUp(const Share& at) const;
  double WeightDown(const Share& at) const;
  // -g'(x)/g(x) >= 0, relative error below 1e-9.
  double Decay(const Share& at) const;

  // False where a double does not reach g's scale in x: γ below e^-600.
  bool InReach() const;

 private:
  enum class Kind { kNegativeBinomial, kPoisson, kBinomial };

  Kind kind_ = Kind::kPoisson;
  double log_mean_ = 0;
  double eta_ = 0, log_inverse_gamma_ = 0, odds_ = 0;  // odds: (1 - γ)/γ
  double mean_ = 0;
  double runs_ = 0, probability_ = 0;
};

}  // namespace dpledger::accountant::selection
