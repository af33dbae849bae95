// Laws of positive numbers on the cells of a grid, and their sums. Private to allocation/; proofs
// and error budget: CLAIM.md.
#pragma once

#include <vector>

namespace dpledger::accountant::allocation {

struct Atoms {
  std::vector<double> place;  // > 0, ascending
  std::vector<double> q;
};

// A law by its cells [points[k], points[k + 1]]: low[k] = E[(points[k+1] - v)/width] and high[k] =
// E[(v - points[k])/width] over the cell, sums of positive terms.
struct Cells {
  std::vector<double> points;
  std::vector<double> low, high;
  double relative_error = 0;  // of low and high
  double place_error = 0;     // relative, of every place a mass had and of the points
  double lost = 0;            // to underflow: absolutely, of low and high
};

// All masses at the ends of their cells, the mean kept: greater in the convex order. Rounded up by
// `lost` alone.
Atoms Split(const Cells& cells);
// All mass of a cell at its mean: less in the convex order. What underflow may have spoilt is
// dropped.
Atoms Merge(const Cells& cells);
// The relative error of the means' places.
double MergeError(const Cells& cells);

// Points from `from` to `to` > `from`, both included, outwards from the mean of a law that lies
// mostly within `spread` of it: steps of mesh times the distance from the mean (at least `spread`),
// and at most mesh times the place. At most a few thousand: the mesh grows where that is not
// enough.
std::vector<double> Grid(double mean, double spread, double mesh, double from, double to);

// e^{μx - μ²/2} for x ~ N(0,1) in [low, high].
Cells OneRound(double mu, double low, double high, double mesh, double spread);

// The sum of two independent laws on a grid that covers it. Passing the same atoms twice takes half
// the time.
Cells SumOf(const Atoms& a, const Atoms& b, const std::vector<double>& grid);

}  // namespace dpledger::accountant::allocation
