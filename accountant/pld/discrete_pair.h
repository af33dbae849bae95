// One step's privacy loss on a grid: a pair of discrete distributions that is at least (or at most)
// as revealing as the step. "Remove" asks about P (the record is in) against Q (it is not), "add"
// about Q against P; one discretisation serves both, for it keeps the masses of both. Claims:
// pld/CLAIM.md, sections 2 and 3.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/limits.h"

namespace dpledger::accountant::pld {

// Atoms at losses first_loss + j·step with P-mass mass[j] and Q-mass mass[j]·e^{-loss}.
struct DiscretePair {
  double first_loss = 0;
  double step = 0;
  std::vector<double> mass;
  // Upper bounds only: mass whose loss counts as +infinity (P-mass for remove, Q-mass for add).
  double remove_infinity = 0;
  double add_infinity = 0;
  // Every atom's true loss is within loss_error of the stated one, and its true mass within
  // mass_error, relatively.
  double loss_error = 0;
  double mass_error = 0;
};

// At least as revealing as the step, in both directions: connect the dots (Doroshenko et al. 2022,
// arXiv 2207.04380) in the form that keeps each cell's P- and Q-mass: the upper end of [x, x+h]
// gets E_P[1 - e^{x-L}; cell]/(1 - e^{-h}), the lower end the rest. q in (0, 1], mu > 0, step > 0;
// tail in (0, 0.1): the mass that may go to infinity, in each direction. RESOURCE_EXHAUSTED if it
// would need more than max_atoms.
absl::StatusOr<DiscretePair> BuildUpper(double q, double mu, double step, double tail,
                                        size_t max_atoms, const Limits& limits);

// At most as revealing as the step, in both directions: outcomes are merged, some by a coin, so
// that every merged outcome's P-mass over Q-mass is e^{grid point}; mass in the tails is dropped.
absl::StatusOr<DiscretePair> BuildLower(double q, double mu, double step, double tail,
                                        size_t max_atoms, const Limits& limits);

}  // namespace dpledger::accountant::pld
