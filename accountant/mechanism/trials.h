// The law of the number of runs K whose best result is released, as private selection needs it.
//
// A run's result has the distribution Q, ordered by quality. The best of K runs has the density
// g(x) with respect to Q at a result that a share x of Q is better than, where g(x) = f'(1 - x) and
// f(y) = E[y^K]. g is decreasing and convex (f' is a power series with positive coefficients), and
// g(0) = E[K].
#pragma once

#include <cstdint>
#include <variant>

#include "absl/status/status.h"

namespace dpledger::accountant {

struct NegativeBinomialTrials {
  double eta;   // > -1; 0 logarithmic, 1 geometric
  double mean;  // in (1, 1e15]
};
struct PoissonTrials {
  double mean;  // in (0, 1e15]
};
struct FixedTrials {
  uint64_t count;  // in [1, 2^53]
};
struct BinomialTrials {
  uint64_t trials;     // in [1, 2^53]
  double probability;  // in (0, 1]
};
// The cheapest of the other distributions with this mean, among those with P(K <= 1) at most
// at_most_one_probability. Without that limit, the cheapest distribution of a given mean nearly
// always makes one run, and hardly ever very many.
struct LeastCostTrials {
  double mean;                           // in (1, 1e15]
  double at_most_one_probability = 0.5;  // in (0, 1]
};
using Trials = std::variant<NegativeBinomialTrials, PoissonTrials, FixedTrials, BinomialTrials,
                            LeastCostTrials>;

// INVALID_ARGUMENT naming the field, as in the proto's Trials.
absl::Status CheckTrials(const Trials& trials);

// The truncated negative binomial distribution D_{η,γ} (Papernot and Steinke 2021, arXiv
// 2110.03620, def. 1): log(1/γ) for which its mean is `mean`, rounded up (a larger value costs
// more). η > -1, mean > 1.
double LogInverseGamma(double eta, double mean);

// P(K <= 1), relative error below 1e-9. Not for LeastCostTrials.
double AtMostOneProbability(const Trials& trials);

// A point x of [0, 1] and rest = 1 - x, each to full relative accuracy.
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
    double up() const { return value + error; }
    double down() const { return value - error; }
  };
  Bounded LogWeight(const Share& at) const;
  double WeightUp(const Share& at) const;
  double WeightDown(const Share& at) const;
  // The logarithm of the probability that the best result lies in a set of mass `width` > 0 under Q
  // that a share `from` of Q is better than: of the integral of g from there.
  Bounded LogSelected(const Share& from, double width) const;
  // -g'(x)/g(x) >= 0, relative error below 1e-9.
  double Decay(const Share& at) const;

  // False if g varies on a scale in x too small for a double: γ below e^-600.
  bool InReach() const;

 private:
  enum class Kind { kNegativeBinomial, kPoisson, kBinomial };

  // That one of the binomial's runs is not carried out, or is not in the share `at`.
  double NoneAt(const Share& at) const;

  Kind kind_ = Kind::kPoisson;
  double log_mean_ = 0;
  double eta_ = 0, log_inverse_gamma_ = 0, odds_ = 0;  // odds: (1 - γ)/γ
  double mean_ = 0;
  double runs_ = 0, probability_ = 0;
};

}  // namespace dpledger::accountant
