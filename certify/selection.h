// The best of several runs, whose number is drawn: bounds on its δ(ε) from those of one run.
// CLAIM.md, section 6. Which points a lattice has, and where cells end, may be anything.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "certify/ball.h"
#include "certify/composition.h"
#include "certify/proof.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::certify {

// g(x), the derivative of E[s^K] at s = 1 - x: mean (1 + θx)^{-ν}, or mean e^{-νx} where θ is 0.
struct Trials {
  Ball mean, theta, nu;
  bool always = false;               // K is at least 1
  std::optional<double> most;        // that K may be
  Ball Weight(const Ball& x) const;  // g(x), 0 <= x <= 1
  Ball Decay(const Ball& x) const;   // -g'(x)/g(x)
  // The integral of g over [from, from + mass]: the best result is in such a set.
  Ball Selected(const Ball& from, const Ball& mass) const;
};
absl::StatusOr<Trials> TrialsOf(const v1::Trials& trials);

// One run's δ at 0, spacing, 2 spacing, ...; as many in each direction.
struct Lattice {
  double spacing = 0;
  std::vector<Bounds> remove, add;
  long size() const { return static_cast<long>(remove.size()); }
  // At i spacing of one direction, also below 0.
  Bounds At(Direction direction, long i) const;
};

// How far g and h change over a cell, relatively, and what δ needs no digits of.
struct Fineness {
  double cell = 0, negligible = 0;
};
// Bounds on δ(ε) of the best in one direction: for every order of the results, and for the worst.
Ball SelectedAbove(const Trials& trials, const Lattice& run, Direction direction, double epsilon,
                   const Fineness& fine);
Ball SelectedBelow(const Trials& trials, const Lattice& run, Direction direction, double epsilon);

}  // namespace dpledger::certify
