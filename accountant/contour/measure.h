// The measure of a composition's privacy loss whose largest jump lies in one window: its transform
// at real orders. Private to contour/; CLAIM.md, "By the largest jump".
//
// With B_i(z) and W_i(z) the transforms of what is below and of the shell of step i, and H = B + W,
// the measure's transform is Π H_i^{T_i} - Π B_i^{T_i}; where nothing is below, Π W_i^{T_i}.
#pragma once

#include <limits>
#include <vector>

#include "accountant/contour/shell.h"

namespace dpledger::accountant::contour {

// LogChernoff (saddle.h), and its limit 0 at r = 0, where δ is bounded by the mass.
double LogChernoffFrom0(double r);

// A bound on a measure's δ at every ε, from its transform at one order >= 0, which is at most
// e^{log_mgf}.
struct Chernoff {
  double order = 0, log_mgf = std::numeric_limits<double>::infinity();
  double LogDeltaUp(double epsilon) const;
};

// log of the transform at a real order with two derivatives; and, where it was asked for, an upper
// bound on it.
struct Tilted {
  double c = 0, log_mgf = 0, mean = 0, variance = 0, upper = 0;
  // As in Saddle.
  double Curvature() const { return variance + 1 / (c * c) + 1 / ((1 + c) * (1 + c)); }
};

// Each step's sums at order c, with log H of one run, and log Π H^T. No bounds.
struct SumsAt {
  std::vector<CutSum> shell, below;
  std::vector<double> log_high;
  double log_all = 0;
};

// The rest of Limits::max_jump_work, in nanoseconds of one core of 2023: counted as it is spent,
// rather than timed, so that the same question has the same answer on every machine.
struct JumpWork {
  double left;
  bool IsSpent() const { return left < 0; }
};

// All steps' shells of one window. Movable; not thread safe.
class Measure {
 public:
  // A window for each step; all with something below, or none. `digits`: what real orders are
  // wanted to, relative to one run's mass. Every function takes what it does from `work`.
  Measure(const std::vector<Step>& steps, const std::vector<Window>& windows, double digits,
          JumpWork& work);
  // False if that takes too many nodes; nothing else may be called then.
  bool ok() const { return ok_; }
  bool has_below() const { return shells_[0].has_below(); }

  Tilted At(double c, bool with_bound = false) const;
  // The saddle of δ(ε)'s integrand (saddle.h).
  Tilted ForEpsilon(double epsilon) const;
  // Near the best order for δ(ε).
  Chernoff ChernoffAt(double epsilon) const;
  SumsAt Sums(double c) const;
  // log of a bound on the transform's modulus at c + iy', for every y' >= y > 0; as good as `sums`,
  // which is Sums(c).
  double LogModulusFrom(const SumsAt& sums, double c, double y) const;

  // Laying other nodes on them makes the functions above answer from those.
  std::vector<Shell>& shells() { return shells_; }
  const std::vector<Shell>& shells() const { return shells_; }
  JumpWork& work() const { return work_; }

 private:
  void Spend(double nanoseconds) const { work_.left -= nanoseconds; }

  std::vector<Shell> shells_;
  std::vector<double> heights_;
  JumpWork& work_;
  bool ok_ = true;
};

}  // namespace dpledger::accountant::contour
