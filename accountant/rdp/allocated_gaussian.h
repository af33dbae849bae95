// Rényi divergences of random allocation: each record joins one of t rounds, drawn uniformly, and a
// Gaussian mechanism runs in every round.
#pragma once

#include <cstdint>
#include <vector>

#include "accountant/allocation/ratio_law.h"

namespace dpledger::accountant::rdp {

class AllocatedGaussianMoments {
 public:
  // rounds >= 1, of which `missing` < rounds release nothing; μ = 1/z > 0.
  AllocatedGaussianMoments(uint64_t rounds, double mu, uint64_t missing = 0);

  // Upper bounds on an epoch's Rényi divergence of `order` > 1, rounded up. Proofs: rdp/CLAIM.md.
  double Remove(double order) const;
  double Add(double order) const;
  // Of the epoch with one record against that with another in its place, each of which moves the
  // mean by μ.
  double Replace(double order) const;

 private:
  // E_Q[r^power] - 1 >= 0 of the epoch's ratio r, power > 1 or < 0, rounded up, by its upper law;
  // infinite where that says nothing.
  double Excess(double power) const;

  const double rounds_, part_, mu_;  // part_: the share of rounds that are not missing
  allocation::RatioLaw law_;         // empty: none is within reach
  std::vector<double> log_moments_;  // of the whole orders 0, 1, 2, …: remove
};

}  // namespace dpledger::accountant::rdp
