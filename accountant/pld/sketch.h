// A rough law of the composed loss, by quadrature: enough to see where ε, its saddle and the finest
// useful mesh are. Nothing here enters a bound.
#pragma once

#include <vector>

#include "accountant/mechanism/pair.h"
#include "accountant/pld/composed.h"

namespace dpledger::accountant::pld {

class Sketch {
 public:
  void Add(const Pair& pair, double count);
  // A loss that is known by its atoms in one direction.
  void Add(const DirectedLoss& loss, double step, Direction direction);

  struct Cumulants {
    double value = 0, mean = 0, variance = 0;
  };
  Cumulants At(Direction direction, double s) const;

  // The mesh at which discretisation adds `variance` to the tilted composition: an outcome at
  // distance x from the point its grid is laid on adds x (h - x), or h²/6 on average.
  double Mesh(Direction direction, double tilt, double variance) const;

  struct Estimate {
    double epsilon = 0, log_delta = 0;
    double tilt = 1;           // the saddle
    Cumulants at;              // there
    bool from_bounds = false;  // epsilon is no longer the sketch's, but what a mesh showed
  };
  Estimate AtDelta(Direction direction, double log_delta) const;
  Estimate AtEpsilon(Direction direction, double epsilon) const;

 private:
  struct Step {
    std::vector<double> loss, log_p, log_q;  // points of mass; one of the logs may be unused
    double origin = 0;                       // the grid is laid on it
    size_t smooth;                           // the first points do not stand on a lattice
    double count;
    bool remove = true, add = true;
  };
  // Tilted masses of a step, up to a factor; the log of that factor.
  static double Tilted(const Step& step, Direction direction, double s,
                       std::vector<double>& weight);
  Estimate AtTilt(Direction direction, double tilt) const;

  std::vector<Step> steps_;
};

}  // namespace dpledger::accountant::pld
