// A pair discretised on a grid of losses: one discrete pair that dominates it and one that it
// dominates. "Remove" means P (the record is in) against Q (it is not), "add" Q against P. One
// discretisation serves both directions: it keeps the P-masses and the Q-masses. Claims:
// pld/CLAIM.md, sections 2 and 3.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/allocation/ratio_law.h"
#include "accountant/limits.h"
#include "accountant/pair/pair.h"

namespace dpledger::accountant::pld {

// Atoms at losses first_loss + j·step with P-mass mass[j] and Q-mass mass[j]·e^{-loss}. Masses are
// rounded up in a dominating pair, down in a dominated one.
struct DiscretePair {
  double first_loss = 0;
  double step = 0;
  std::vector<double> mass;
  // Mass whose loss is +infinity (P-mass for remove, Q-mass for add).
  double remove_infinity = 0;
  double add_infinity = 0;
  // Every atom's loss is within loss_error of the true one.
  double loss_error = 0;

  // One finite outcome: what is left of any pair with these infinite masses if all its finite
  // outcomes are merged. Infinite masses in [0, 1).
  static DiscretePair Merged(double step, double remove_infinity, double add_infinity);
};

// A pair's mass distributed over the cells of a grid of losses; both discretisations are made from
// it. Shares are in units of P-mass at their grid point.
class Shares {
 public:
  // The grid points are origin + j·step; the origin is an atom's loss if there is an atom, else
  // Piece::origin(). tail in (0, 0.1): mass that may be cut on either side. RESOURCE_EXHAUSTED if
  // that takes more than max_atoms points.
  static absl::StatusOr<Shares> Of(const Pair& pair, double step, double tail, size_t max_atoms,
                                   const Limits& limits);
  // Of a law of ratios. The mass that it leaves out counts as an infinite loss in Upper().
  static absl::StatusOr<Shares> Of(const allocation::RatioLaw& law, double step, size_t max_atoms);

  // Dominates the pair in both directions: connect the dots (Doroshenko et al. 2022, arXiv
  // 2207.04380) in the form that keeps each cell's P- and Q-mass.
  DiscretePair Upper() const;
  // Dominated by the pair in both directions: its profile lies below the pair's, with kinks at grid
  // points. Merged where no such profile is found.
  DiscretePair Lower() const;

 private:
  struct Cut {
    size_t node;
    double mass;
  };
  // An empty grid over [lowest, highest], laid on `origin`. RESOURCE_EXHAUSTED as above.
  static absl::StatusOr<Shares> OnGrid(double origin, double lowest, double highest, double step,
                                       size_t max_atoms);
  void AddAtom(double p, double loss);
  bool CheckMass() const;

  double first_loss_ = 0, step_ = 0;
  std::vector<double> exact_;  // mass at point j itself
  std::vector<double> low_;    // of the cell between points j and j + 1, the share of j
  std::vector<double> high_;   // and of j + 1
  // By how much the profile has to be lowered at point j, and at j + 1, for the chord over the cell
  // to lie nowhere above the true profile.
  std::vector<double> lower_left_, lower_right_;
  std::vector<double> error_;  // relative, of the cell's shares
  std::vector<Cut> cut_;       // P-mass of the tails; Upper() puts it at `node`
  double remove_cut_ = 0, add_cut_ = 0;
  double remove_infinity_ = 0, add_infinity_ = 0;
  double uncovered_p_ = 0, uncovered_q_ = 0;  // masses of pieces that no grid can cover
  double loss_error_ = 0;
  double mass_error_ = 0;  // relative, of every mass
};

// The spacing of the lattice on which the losses of the pair's finite atoms lie; 0 if there is
// none.
double LatticeSpacing(const Pair& pair);

}  // namespace dpledger::accountant::pld
