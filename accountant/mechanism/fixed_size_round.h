// One round of a Gaussian mechanism on a sample of fixed size, one record replaced by another: how
// revealing it is for any place of the two records and of the one in whose place they are drawn.
// The places are sorted into a few cells, and each cell has one pair above all of its places.
// Private to mechanism/; proof and error budget: mechanism/CLAIM.md, section 10.
//
// Pure functions, thread safe.
#pragma once

#include <vector>

#include "accountant/mechanism/composition.h"
#include "accountant/mechanism/pair.h"

namespace dpledger::accountant {

// The likelihood ratios r and r' of the two records, to the one in whose place they are drawn, are
// the product of independent lognormal variables of mean one: r = e^common e^first, r' = e^common
// e^second, up to the means. Variances of the logarithms.
struct RatioVariances {
  double common, first, second;
};

// At least E[(P - k·P')_+] of the round, for P = 1 - share + share·r, P' = 1 - share + share·r' and
// k >= 1. Of the variances, all but the greater one of `first` and `second` count some parts in a
// hundred too much.
class HockeyStick {
 public:
  // Parts below `faint` count as the most that they may be.
  HockeyStick(double share, const RatioVariances& ratios, double faint);
  double Up(double k) const;

 private:
  // A lognormal variable of mean one, as finitely many values above it in the convex order, 0 among
  // them. What is beyond the last value is counted there, and `excess` bounds its mean.
  struct Points {
    std::vector<double> value, weight;
    double at_zero = 0, excess = 0;
    static Points Of(double variance);
  };

  double share_, faint_;
  bool first_is_smooth_;  // the greater of both, which is integrated in closed form
  double smooth_;         // its standard deviation
  Points common_, other_;
};

// A set of places. Where P >= P' their hockey sticks are at most those of `above`, elsewhere those
// of `below` with both records exchanged.
struct Cell {
  RatioVariances above, below;
};

// Cells of all places whose first record is the farther one from w; the others are these with both
// records exchanged. About angles²/4 + angles/2 of them, angles >= 1.
std::vector<Cell> CellsOf(double distance, int angles);

// A pair of point masses at losses that are whole multiples of `mesh`, which dominates every round
// with places in the cell. Where its hockey stick is below `tail` it goes on as infinite mass.
Pair PairOfCell(double share, const Cell& cell, double mesh, double tail);

}  // namespace dpledger::accountant
