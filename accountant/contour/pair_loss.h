// The privacy loss of a step that is known by a pair of distributions, in one direction, on the
// contour: its transform in closed form. Private to contour/; CLAIM.md, "Other pairs".
#pragma once

#include <memory>
#include <vector>

#include "accountant/contour/step.h"
#include "accountant/pair/pair.h"

namespace dpledger::accountant::contour {

// The law of the finite losses: atoms, and intervals over which loss and log-density are linear.
class PairLoss {
 public:
  // Null where the pair has another density, or no mass at a finite loss.
  static std::shared_ptr<const PairLoss> Of(const Pair& pair, bool add);

  // P(L = infinity).
  double infinite() const { return infinite_; }

  // K, K' and K'' of one run at c > 0.
  Tilt TiltAt(double c) const;
  // As PutOnLine.
  bool PutOnLine(double c, double spacing, size_t nodes, double& work, StepOnLine& result) const;

 private:
  struct Slope {  // s in [-half, half]: density e^{log_density + rate·s}, loss loss + rise·s
    double log_density, rate, loss, rise, half;
    double loss_error;
  };
  // Each term's share of E[e^{cL}], and what its rounding adds to that, relatively.
  struct Shares {
    double log_mgf = 0;
    std::vector<double> weight, error;  // atoms, then slopes
  };
  Shares At(double c) const;
  size_t size() const { return loss_.size() + slopes_.size(); }

  std::vector<double> loss_, log_mass_, loss_error_;  // of atoms
  std::vector<Slope> slopes_;
  double infinite_ = 0;
  double relative_error_ = 0;  // of masses and densities of both distributions
};

}  // namespace dpledger::accountant::contour
