// A pair of distributions (P, Q) that says how revealing a mechanism is: its dominating pair (Zhu,
// Dong, Wang 2022, arXiv 2106.08567, def. 7). "Remove" asks about P (the record is in) against Q
// (it is not), "add" about Q against P; a mechanism whose neighbours are exchangeable has the same
// profile in both. The privacy loss is log(P/Q).
//
// A pair is a sum of point masses and of pieces with densities. Several outcomes may have the same
// loss, and pieces may overlap: only the law of the loss matters. Invariants: P and Q have mass
// one, up to relative_error.
#pragma once

#include <vector>

namespace dpledger::accountant {

// An outcome. Zero on one side means an infinite loss in that direction; both zero does not occur.
struct Atom {
  double p, q;  // in [0, 1]
  bool operator==(const Atom&) const = default;
};

// e^{log_coefficient + rate·t}
struct ExponentialTerm {
  double log_coefficient, rate;
  bool operator==(const ExponentialTerm&) const = default;
};

// Outcomes t in [from, to] with densities
//   p(t) = e^{constant + linear·t + quadratic·t²} Σ_k e^{p[k]},  every rate >= 0,
//   q(t) = the same factor times Σ_k e^{q[k]},                   every rate <= 0,
// so that the loss log(p/q) does not fall with t. Both sums have at least one term. Ends may be
// infinite where quadratic < 0; else they are finite.
struct DensityPiece {
  double from, to;
  double constant, linear, quadratic;  // quadratic <= 0
  std::vector<ExponentialTerm> p, q;
  bool operator==(const DensityPiece&) const = default;

  // log(p/q) at t in [from, to]; at an infinite end its limit.
  double Loss(double t) const;
};

struct Pair {
  std::vector<Atom> atoms;
  std::vector<DensityPiece> pieces;
  // Bounds the relative error of every mass and density.
  double relative_error = 0;
  // The profile is the same in both directions.
  bool symmetric = false;
  bool operator==(const Pair&) const = default;

  // P = Q: nothing is revealed.
  static Pair Nothing() { return {{{1, 1}}, {}, 0, true}; }
};

}  // namespace dpledger::accountant
