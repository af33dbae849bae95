// Rényi moments of a pair of distributions: point masses and density pieces.
#pragma once

#include <cstddef>
#include <vector>

#include "accountant/pair/pair.h"
#include "accountant/rdp/piece_integral.h"

namespace dpledger::accountant::rdp {

// Upper bounds on log Σ p^α q^{1-α} (remove; for add p and q are exchanged) over the outcomes with
// p > 0 and q > 0. All orders share the logarithms of the point masses. Not thread safe.
class PairMoments {
 public:
  explicit PairMoments(Pair pair);

  const Pair& pair() const { return pair_; }
  // order > 1.
  double LogMomentUp(Direction direction, double order);

 private:
  double LogAtomsUp(Direction direction, double order);

  const Pair pair_;
  std::vector<double> log_p_, log_q_;  // of the point masses with both sides
  std::vector<double> scratch_;
  size_t greatest_ = 0;  // the piece with the greatest moment of the last order
};

// The mass of the outcomes whose loss is infinite, rounded up: P's where q = 0 (remove), Q's where
// p = 0 (add).
double InfiniteLoss(const Pair& pair, Direction direction);

}  // namespace dpledger::accountant::rdp
