// The noise multiplier of several Gaussian queries on one sample. Private to mechanism/.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "accountant/interval.h"

namespace dpledger::accountant {

// a / b as an interval; a point if the quotient is exact, so that σ = 2, S = 1 gives exactly z = 2.
Interval Quotient(double a, double b);

// (Σ_i count_i z_i^-2)^(-1/2) (McMahan et al. 2018, arXiv 1812.06210, eq. 1).
class JointNoise {
 public:
  // FAILED_PRECONDITION (reason NO_ANALYSIS) for a z outside [1e-100, 1e100].
  absl::Status Add(Interval z, uint64_t count);
  // The same of what was added once before, by itself or with others.
  void Include(Interval z, uint64_t count);
  bool empty() const { return empty_; }
  Interval multiplier() const;

 private:
  bool empty_ = true;
  bool one_ = false;  // exactly one query: single_ is its multiplier, without the sum's rounding
  Interval single_;
  Interval precision_{0, 0};
};

}  // namespace dpledger::accountant
