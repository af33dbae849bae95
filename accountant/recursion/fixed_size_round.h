// One round of a Gaussian mechanism on a sample of fixed size, one record replaced by another: how
// revealing it is for any place of the two records and of the one in whose place they are drawn.
// The places are sorted into a few cells, and each cell has one pair above all of its places.
// Private to this room; proof and error budget: mechanism/CLAIM.md, section 10.
//
// Pure functions, thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "accountant/mechanism/composition.h"
#include "accountant/pair/pair.h"

namespace dpledger::accountant {

// The likelihood ratios r and r' of the two records, to the one in whose place they are drawn, are
// the product of independent lognormal variables of mean one: r = e^common e^first, r' = e^common
// e^second, up to the means. Variances of the logarithms.
struct RatioVariances {
  double common, first, second;
};

// At least E[(P - k·P')_+] of the round, for P = 1 - share + share·r, P' = 1 - share + share·r' and
// k >= 1. Of the variances, all but the greater one of `first` and `second` count one or two parts
// in a hundred too much.
class HockeyStick {
 public:
  // Parts below `faint` count as the most that they may be.
  HockeyStick(double share, const RatioVariances& ratios, double faint);
  double Up(double k) const;

 private:
  // A lognormal variable of mean one, as finitely many values above it in the convex order, 0 among
  // them. The mass beyond the last value is counted there, and `excess` bounds its mean.
  struct Points {
    std::vector<double> value, weight;
    double at_zero = 0, excess = 0;
    static Points Of(double variance);
  };

  // E[(r - strike)_+], a call, or E[(strike - r)_+], a put, at least, for lognormal r of mean one.
  // Given what is faint: by chords between strikes at which it is known, for many to be asked.
  class Option {
   public:
    Option(double deviation, bool is_call, std::optional<double> faint);
    double Up(double strike) const;

   private:
    double Exactly(double strike) const;

    double deviation_;
    bool is_call_;
    // Strikes are a part of an octave from one to the next: their bits, as whole numbers, go up by
    // 2^shift_.
    double StrikeAt(size_t i) const;
    uint64_t first_ = 0;
    int shift_ = 0;
    std::vector<double> value_;
  };

  double share_, faint_;
  bool first_is_smooth_;  // the greater of both, which is integrated in closed form
  Points common_, other_;
  Option smooth_;
};

// A set of places. Where P >= P' each of their hockey sticks is at most the greatest of those of
// `above`, elsewhere of those of `below` with both records exchanged.
struct Cell {
  std::vector<RatioVariances> above, below;
};

inline constexpr double kRightAngle = 1.57079632679489661923;
// Cells of all places whose first record is the farther one from w; the others are these with both
// records exchanged. Cut at these angles, ascending from 0 to a right one: of the second record as
// they are, of the first one from a right angle down. At 0 both records are at two ends.
std::vector<Cell> CellsOf(double distance, const std::vector<double>& angles);

// The losses in units of `mesh`, from 0 up to the first one at `reach` or beyond, at which a pair
// of a cell has points, on either side.
std::vector<int> PointsOfPair(double mesh, double reach);
// A pair of point masses at losses that are whole multiples of `mesh`, which dominates every round
// with places in the cell. Once its hockey stick is below `tail`, the rest is infinite mass.
Pair PairOfCell(double share, double distance, const Cell& cell, double mesh, double tail);

}  // namespace dpledger::accountant
