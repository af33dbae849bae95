// The privacy loss of one Poisson-sampled Gaussian step as a function of t, its grid, and integrals
// over a grid's cells. Private to pld/.
//
// t is the standard normal variable of the step: under Q, t ~ N(0, 1); under P, t ~ (1-q) N(0, 1) +
// q N(μ, 1). The loss is ℓ(t) = log(P/Q) = log(1 - q + q e^{μt - μ²/2}), increasing, above the edge
// log(1 - q) for q < 1.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger::accountant::pld {

// Grid points x_j = origin + offset + j·h. For q < 1 the origin is the edge, from where the excess
// e^{x_j} - (1-q) = (1-q)(e^{offset + jh} - 1) has no cancellation; j may lie between grid points.
class LossGrid {
 public:
  // Covers all but `tail` of the mass under both distributions on each side. RESOURCE_EXHAUSTED
  // when that takes more than max_atoms points, or losses whose exponentials leave the range of
  // doubles.
  static absl::StatusOr<LossGrid> Cover(double q, double mu, double h, double tail,
                                        size_t max_atoms);

  double q() const { return q_; }
  double mu() const { return mu_; }
  double h() const { return h_; }
  // Whether the first cell reaches down to t = -infinity.
  bool edge() const { return edge_; }
  double first() const { return first_; }    // j of the first grid point
  double last_t() const { return last_t_; }  // cells go on until t is beyond this
  void set_offset(double offset) { offset_ = offset; }

  double Loss(double j) const { return origin_ + offset_ + j * h_; }
  double Excess(double j) const;    // e^{x_j} - (1 - q)
  double T(double j) const;         // ℓ^{-1}(x_j)
  double ExcessAt(double t) const;  // e^{ℓ(t)} - (1 - q)
  double OneMinusQ() const { return base_; }

  // Bounds on the relative error of a cell's integrals, on how far the loss at a computed T(j) is
  // from x_j, and on the error of the loss that an atom states (DiscretePair::loss_error).
  double MassError() const;
  double PointError(double last_j) const;
  double LossError(double last_j) const { return PointError(last_j) + 2 * MassError(); }

 private:
  double LossAt(double t) const;

  double q_, mu_, h_;
  double base_;  // 1 - q
  double origin_;
  double offset_ = 0;
  double first_ = 0;
  double last_t_ = 0;
  bool edge_ = false;
};

struct CellIntegrals {
  double q_mass = 0;      // ∫ φ(t) dt
  double from_left = 0;   // ∫ φ(t) (e^{μ(t - from)} - 1) dt, >= 0; 0 if from is -infinity
  double from_right = 0;  // ∫ φ(t) (1 - e^{μ(t - to)}) dt, >= 0
};
// Over [from, to]; from may be -infinity. All terms are positive; relative error below
// LossGrid::MassError.
CellIntegrals Integrate(double mu, double from, double to);

}  // namespace dpledger::accountant::pld
