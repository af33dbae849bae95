// Tails of the binomial distribution whose success probability is given by its log odds, rounded
// outward.
#pragma once

#include <cstdint>
#include <vector>

#include "accountant/interval.h"

namespace dpledger::accountant::audit {

// Greatest number of trials: about 40·sqrt(trials) probabilities are kept.
inline constexpr uint64_t kGreatestTrials = 1'000'000'000;

// W successes in `trials` independent trials, each with probability e^t/(1 + e^t). Immutable.
class Binomial {
 public:
  // trials in [1, kGreatestTrials], |log_odds| <= 700.
  Binomial(uint64_t trials, double log_odds);

  // P(W >= k), k in [0, trials]. Above 1e-250 the bounds are at most 1e-8 apart, relatively.
  Interval UpperTail(uint64_t k) const;

  // An upper bound on the greatest mean of successive probabilities that end before k:
  // max over 1 <= i <= k of P(k - i <= W < k)/i. 0 for k = 0.
  double GreatestMeanBelow(uint64_t k) const;

 private:
  double RelativeError() const;

  uint64_t trials_;
  uint64_t mode_;
  uint64_t first_;                // weights_[i] is P(W = first_ + i)/P(W = mode_), up to
  std::vector<double> weights_;   // RelativeError
  double below_ = 0, above_ = 0;  // at least every weight on that side that is not kept
  double sum_ = 0;                // of the weights kept
};

}  // namespace dpledger::accountant::audit
