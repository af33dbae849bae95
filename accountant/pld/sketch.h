// An approximate law of the composed loss, by quadrature, from which to estimate ε, its saddle and
// the finest useful mesh. Nothing here enters a bound.
#pragma once

#include <vector>

#include "accountant/pair/pair.h"
#include "accountant/pld/composed.h"

namespace dpledger::accountant::pld {

class Sketch {
 public:
  // excess: by how much more than a loss grid all of the step's discretisation adds to the
  // variance.
  void Add(const Pair& pair, double count, double excess = 1);
  // A step given by the atoms of its loss in one direction.
  void Add(const DirectedLoss& loss, double step, Direction direction);

  struct Cumulants {
    double value = 0, mean = 0, variance = 0;
  };
  Cumulants At(Direction direction, double s) const;

  // The mesh at which discretisation adds `variance` to the tilted composition: an outcome at
  // distance x from the point its grid is laid on adds x (h - x), or h²/6 on average.
  double Mesh(Direction direction, double tilt, double variance) const;

  // The sum of the ranges of the steps' losses; 0 if all are on lattices, which say how fine a mesh
  // is.
  double Span() const;

  struct Estimate {
    double epsilon = 0, log_delta = 0;
    double tilt = 1;           // the saddle
    Cumulants at;              // at the saddle
    bool from_bounds = false;  // epsilon comes from bounds on a mesh, not from the sketch
  };
  Estimate AtDelta(Direction direction, double log_delta) const;
  Estimate AtEpsilon(Direction direction, double epsilon) const;

 private:
  struct Step {
    std::vector<double> loss, log_p, log_q;  // point masses; one of the logs may be unused
    double origin = 0;                       // a grid point
    size_t smooth;                           // so many points, the first ones, are not on a lattice
    double count;
    double excess = 1;
    bool remove = true, add = true;
  };
  // Writes the tilted masses of a step, up to a factor, to `weight`; returns the factor's
  // logarithm.
  static double Tilted(const Step& step, Direction direction, double s,
                       std::vector<double>& weight);
  Estimate AtTilt(Direction direction, double tilt) const;
  // The saddle at which `off`, a step of Newton's method in the saddle's logarithm, vanishes.
  template <typename Off>
  Estimate Search(Direction direction, const Off& off) const;

  std::vector<Step> steps_;
};

}  // namespace dpledger::accountant::pld
