// The composition of discrete privacy losses in one direction: an exponentially tilted, circular
// convolution by FFT, with bounds on all its errors. Claim, derivation and error budget:
// pld/CLAIM.md.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/pld/directed_loss.h"

namespace dpledger::accountant::pld {

// δ of the composition as a function of ε.
class Composed {
 public:
  // `window_tail`: tilted mass that may lie outside the window on each side. RESOURCE_EXHAUSTED if
  // the window would need more than limits.max_fft_bins; DEADLINE_EXCEEDED, CANCELLED.
  static absl::StatusOr<Composed> Compose(const DirectedLosses& losses, double tilt,
                                          const Limits& limits, double window_tail = 1e-13);

  // For pairs that dominate the steps: an upper bound on log δ(epsilon), at most 0.
  double LogDeltaUp(double epsilon) const;
  // For pairs that the steps dominate: a lower bound on log δ(epsilon); -infinity if none is known.
  double LogDeltaDown(double epsilon) const;

  size_t bins() const { return bins_.size(); }

 private:
  Composed() = default;
  struct Sums {
    double value;   // Σ_x w(x) p(x), w(x) = e^{-c(x-ε)}(1 - e^{-(x-ε)}) over the window's x > ε
    double weight;  // Σ_x w(x)
    double absolute;  // Σ_x w(x) |p(x)|
  };
  // The window's bins from a point y on: Σ e^{-c(x-y)}, and the same times 1 - e^{-(x-y)}; of 1, of
  // p(x) and of |p(x)|.
  struct Suffix {
    Sums decayed{0, 0, 0}, risen{0, 0, 0};
  };
  // That of `length` bins from `begin` on, and of `after`, which is from the next bin on.
  Suffix From(size_t begin, size_t length, const Suffix& after) const;
  void SumBlocks();
  Sums SumsAbove(double epsilon) const;
  double GreatestWeight() const;  // sup over x of w: c^c/(1 + c)^{1+c}

  std::vector<double> bins_;          // tilted probabilities, losses ascending from window_
  std::vector<Suffix> suffixes_;      // from each block of bins on
  std::vector<double> decay_, rise_;  // e^{-ckh} and 1 - e^{-kh}, for each k in a block
  double window_ = 0;                 // loss of bins_[0]
  double step_ = 0;
  double tilt_ = 0;            // c
  long double log_scale_ = 0;  // log M^T: δ = e^{log_scale - cε} Σ w p
  double bin_error_ = 0;       // absolute, of each bin: from the transforms and powers
  double relative_error_ = 0;  // of every composed mass
  double loss_error_ = 0;      // of every composed loss
  double tail_below_ = 0;      // tilted mass outside the window, by Chernoff
  double tail_above_ = 0;
  double infinity_up_ = 0, infinity_down_ = 0;
};

}  // namespace dpledger::accountant::pld
