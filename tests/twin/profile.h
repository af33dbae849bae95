// δ(ε) of a composition of Poisson-sampled Gaussian steps, as a ball that contains it.
//
// δ(ε) = (1/2π) ∫ E[e^{zL}] e^{-zε} / (z(z+1)) dy, z = c + iy; a trapezoidal sum over y differs
// from it by aliases of known sign (Poisson summation) and by its end. Where few jumps decide, the
// measure of L is split by its largest jump: Π H^T - Π B^T for cuts H above B has a line of its
// own.
#pragma once

#include <optional>
#include <vector>

#include "tests/twin/transform.h"

namespace dpledger::twin {

// The closed forms. δ(ε) of one step of noise 1/μ sampled with probability q; q = 1: of a Gaussian.
Ball DeltaOfOneStep(const Ball& q, const Ball& mu, bool add, const Ball& epsilon);

// The measure of the loss whose largest jump lies in a window; all of it where there is no cut.
struct Window {
  std::vector<Kind> kinds;
  std::vector<Cut> cuts;  // of each kind

  bool has_low() const { return cuts[0].has_low(); }
};

// What a profile may cost and how exact it is wanted.
struct Effort {
  // Of δ, for each of aliases, ends and what is neglected: on one line, and by windows.
  double log_share_of_one = -32, log_share = -16;
  double most_products = 4e7;  // nodes of lines times nodes of transforms; a tenth for one line
  bool one_line = false;       // no windows
};

// One window's share of δ.
class Part {
 public:
  // `log_goal`: what each error may be, absolutely. nullopt where that is out of reach.
  static std::optional<Part> Lay(const Window& window, double epsilon, double log_goal,
                                 double& products);
  Ball At(const Ball& epsilon) const;

 private:
  double c_ = 0, spacing_ = 0, up_ = 0, down_ = 0;
  Ball log_up_, log_down_;  // log of the transform at c + up, c - down
  Ball end_;
  std::vector<Complex> values_;  // of the transform over z(z+1)
};

class Profile {
 public:
  // For questions near `epsilon`, where δ is about e^{log_delta}; valid everywhere, whatever these
  // are. nullopt where no lines are within reach.
  static std::optional<Profile> Lay(const std::vector<Kind>& kinds, double epsilon,
                                    double log_delta, const Effort& effort = {});
  Ball DeltaAt(const Ball& epsilon) const;
  size_t parts() const { return parts_.size(); }

 private:
  std::vector<Part> parts_;
  Ball top_;  // mass above the highest cut
  // Chernoff's bound for what is below the lowest: an order, and the transform there.
  std::optional<std::pair<double, Ball>> neglected_;
};

// An upper bound on δ(ε), by Chernoff's bound at the best of some orders; cheap, and loose by a
// factor of some tens.
Ball DeltaUpByChernoff(const std::vector<Kind>& kinds, const Ball& epsilon);

}  // namespace dpledger::twin
