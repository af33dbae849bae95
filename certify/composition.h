// What the checker knows of a history: independent steps, each a pair of distributions (P, Q) whose
// privacy loss L = log P/Q, under P, is stated exactly. Adding or removing a record compares P with
// Q and Q with P: two directions, each with its own loss.
#pragma once

#include <string>
#include <vector>

#include "certify/ball.h"

namespace dpledger::certify {

enum class Direction { kRemove, kAdd };

// Poisson-sampled Gaussian noise: P = (1-q) N(0) + q N(μ) against Q = N(0); opposed:
// (1-q) N(0) + q N(μ) against (1-q) N(0) + q N(-μ).
struct SampledGaussian {
  enum class Against { kNothing, kOpposite };
  Ball q;
  Ball mu;
  Against against;
  double count;
};

// A point of the loss: probability under P, and the loss there.
struct Atom {
  Ball mass;
  Ball loss;
};
// e^{a + bs} ds on 0 < s < length, under P, with the loss l + rs.
struct Density {
  Ball a, b, length, l, r;
};
struct LossLaw {
  std::vector<Atom> atoms;
  std::vector<Density> densities;
  Ball infinite;  // the mass whose loss is infinite
};
struct Pair {
  LossLaw remove, add;
  double count = 0;
  const LossLaw& law(Direction d) const { return d == Direction::kRemove ? remove : add; }
};

// Two pairs that enclose one whose law is not known exactly: composed with anything `above` costs
// at least as much, `below` at most.
struct Enclosed {
  Pair above, below;
};

// How close both are. Whatever the numbers are, they enclose it.
struct Closeness {
  double ignored = 1e-12;  // about the mass that is taken together at the far end
  long places = 1 << 16;   // in a law that is worked out; time grows with them
};

// A bound on Rényi divergences in both directions: D_α <= xi + rho α at all orders, or `epsilons`
// at `orders`.
struct Curve {
  Ball xi, rho;
  std::vector<double> orders, epsilons;
  double count;
};

struct Composition {
  Ball variance;  // Σ count μ² of all Gaussians without sampling
  std::vector<SampledGaussian> sampled;
  std::vector<Pair> pairs;
  std::vector<Curve> curves;  // empty where the composition is a mechanism
};

// Upper bounds must hold for `above`. Lower bounds need hold for `below` alone: a mechanism that
// the events describe.
struct Claimed {
  Composition above, below;
  bool reached = true;      // a mechanism that the events describe costs as much as `above`
  bool close = true;        // or nearly: neither is known, and both enclose it
  bool is_partial = false;  // `below` leaves outcomes out
  uint64_t lines = 0;       // events, or entries of the ledger
};

}  // namespace dpledger::certify
