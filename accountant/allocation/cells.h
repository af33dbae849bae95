// Laws of numbers on the cells of a grid, and their sums. Private to allocation/; proofs and error
// budget: CLAIM.md.
#pragma once

#include <vector>

#include "accountant/allocation/one_round.h"

namespace dpledger::accountant::allocation {

// Rounding of the place of a sum: to nearest, with a relative error that is counted (positive
// places), or always upwards or downwards (places of both signs).
enum class Places { kNearest, kUp, kDown };

struct Atoms {
  std::vector<double> place;  // ascending
  std::vector<double> q;
  // The mean over an atom's outcomes of a second sum, of positive terms; kept for Places::kDown
  // alone, else empty.
  std::vector<double> second;
};

// A law by its cells [points[k], points[k + 1]]: low[k] = E[(points[k+1] - v)/width] and high[k] =
// E[(v - points[k])/width] over the cell, sums of positive terms.
struct Cells {
  std::vector<double> points;
  std::vector<double> low, high;
  std::vector<double> second;  // E[the second sum] over the cell, where it is kept
  double relative_error = 0;   // of low, high and second
  double place_error = 0;      // relative, of every place a mass had and of the points (kNearest)
  double lost = 0;             // to underflow: absolutely, of low and high
  double panels = 0;           // by which a round's shares were integrated
};

// All masses at the ends of their cells, the mean kept: greater in the convex order. Rounded up by
// `lost` alone.
Atoms Split(const Cells& cells);
// All mass of a cell at its mean: less in the convex order. Drops masses so small that underflow
// may have spoilt them.
Atoms Merge(const Cells& cells);
// The same with places rounded down, and the second sum kept.
Atoms MergeDown(const Cells& cells);
// The relative error of the means' places, rounded to nearest.
double MergeError(const Cells& cells);

// Points from `from` to `to` > `from`, both included, for a law that lies mostly within `spread` of
// its mean: steps of mesh times the distance from the mean (at least `spread`). At most a few
// thousand: the mesh grows where that is not enough.
// Of positive places: outwards from the mean, and steps of at most mesh times the place, but of
// mesh times `part` everywhere.
std::vector<double> Grid(double mean, double spread, double part, double mesh, double from,
                         double to);
// Of places of both signs: outwards from 0, where the positive part of the sum has its kink.
std::vector<double> SignedGrid(const SignedScale& scale, double mesh, double from, double to);

// One round's cells (one_round.h), for x ~ N(0,1) in [low, high].
Cells OneRound(const Ratio& round, double low, double high, double mesh);
// The places are rounded, upwards or downwards as asked; the second sum is that of the other
// record's ratios, e^{-μx - μ²/2}.
Cells OneRound(const Opposed& round, double low, double high, double mesh, Places places);

// The sum of two independent laws on a grid that covers it, with room for roundings. Passing the
// same atoms twice takes half the time.
Cells SumOf(const Atoms& a, const Atoms& b, const std::vector<double>& grid, Places places);

}  // namespace dpledger::accountant::allocation
