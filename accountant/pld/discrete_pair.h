// A pair on a grid of losses: two pairs of discrete distributions, one at least and one at most as
// revealing. "Remove" asks about P (the record is in) against Q (it is not), "add" about Q against
// P; one discretisation serves both, for it keeps the masses of both. Claims: pld/CLAIM.md,
// sections 2 and 3.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/pair.h"

namespace dpledger::accountant::pld {

// Atoms at losses first_loss + j·step with P-mass mass[j] and Q-mass mass[j]·e^{-loss}. Masses are
// rounded outwards: up in a pair that is at least as revealing, down in one that is at most.
struct DiscretePair {
  double first_loss = 0;
  double step = 0;
  std::vector<double> mass;
  // Mass whose loss is +infinity (P-mass for remove, Q-mass for add).
  double remove_infinity = 0;
  double add_infinity = 0;
  // Every atom's true loss is within loss_error of the stated one.
  double loss_error = 0;
};

// What the outcomes of a pair leave on a grid of losses, cell by cell; both discretisations are
// made of it. Everything is in P-mass at the grid point meant.
class Shares {
 public:
  // The grid points are origin + j·step, the origin an atom's loss if there is one, else the
  // piece's own. tail in (0, 0.1): mass that may be cut on either side. RESOURCE_EXHAUSTED if that
  // takes more than max_atoms points.
  static absl::StatusOr<Shares> Of(const Pair& pair, double step, double tail, size_t max_atoms,
                                   const Limits& limits);

  // At least as revealing as the pair, in both directions: connect the dots (Doroshenko et al.
  // 2022, arXiv 2207.04380) in the form that keeps each cell's P- and Q-mass.
  DiscretePair Upper() const;
  // At most as revealing, in both directions: a profile below the pair's with its kinks at grid
  // points. Masses may be all 0 where there is none.
  DiscretePair Lower() const;

 private:
  friend class RatioSum;  // builds the shares of a sum of ratios
  struct Cut {
    size_t node;
    double mass;
  };
  void AddAtom(double p, double loss);
  bool CheckMass() const;

  double first_loss_ = 0, step_ = 0;
  std::vector<double> exact_;  // at point j itself
  std::vector<double> low_;    // of the cell between points j and j + 1, the share of j
  std::vector<double> high_;   // and of j + 1
  // By how much the profile has to be lowered at point j, and at j + 1, for its chord over the cell
  // to be nowhere above it.
  std::vector<double> lower_left_, lower_right_;
  std::vector<double> error_;  // relative, of the cell's shares
  std::vector<Cut> cut_;       // P-mass cut away, and the point it may count at
  double remove_cut_ = 0, add_cut_ = 0;
  double remove_infinity_ = 0, add_infinity_ = 0;
  double uncovered_p_ = 0, uncovered_q_ = 0;  // of pieces that no grid holds
  double loss_error_ = 0;
  double mass_error_ = 0;  // of every mass, relatively
};

// The losses' common spacing if the pair's finite atoms stand on a lattice, else 0.
double LatticeSpacing(const Pair& pair);

}  // namespace dpledger::accountant::pld
