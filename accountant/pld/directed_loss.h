// The discretised privacy losses of steps in one direction, on grids of one spacing. Claim:
// pld/CLAIM.md, section 4.
#pragma once

#include <utility>
#include <vector>

#include "accountant/interval.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pld/discrete_pair.h"

namespace dpledger::accountant::pld {

// Whether a bound is an upper or a lower one.
enum class Side { kUpper, kLower };

// Tilting takes atoms in blocks: within one each exponential is the one before times a constant.
// kTiltError bounds the relative error of a weight, apart from that of its exponent.
inline constexpr size_t kTiltBlock = 32;
inline constexpr double kTiltError = 2 * (kTiltBlock + 8) * kUnitRoundoff;

// One step in one direction: atoms at first_loss + j·step with the masses of the direction's first
// distribution, rounded outwards.
struct DirectedLoss {
  double first_loss = 0;
  std::vector<double> mass;
  double count = 1;  // a whole number, at most 2^53
  double infinity = 0;
  double loss_error = 0;
  // Of each block of kTiltBlock atoms: log of the greatest mass, within a factor of two. Made by
  // DirectedLosses.
  std::vector<double> log_peaks = {};
};
DirectedLoss Directed(const DiscretePair& pair, double count, Direction direction, Side side);

// Distinct steps on grids of one spacing.
class DirectedLosses {
 public:
  DirectedLosses(std::vector<DirectedLoss> losses, double step);

  struct Cumulants {
    double value;     // K(s) = Σ count log Σ mass e^{s·loss}
    double mean;      // K'(s)
    double variance;  // K''(s)
  };
  Cumulants LogMgf(double s) const;

  // The saddle of δ(epsilon)'s integrand: argmin over c > 0 of K(c) - c·epsilon - log c - log(1 +
  // c). Any c > 0 gives valid bounds; this one gives tight ones.
  double Tilt(double epsilon, double near) const;

  // The greatest finite loss of the composition; at least 0.
  double GreatestLoss() const;
  // The probability of an infinite loss.
  double InfiniteMass(Side side) const;
  bool Empty() const;  // some step has no mass at a finite loss

  const std::vector<DirectedLoss>& losses() const { return losses_; }
  double step() const { return step_; }

 private:
  std::vector<DirectedLoss> losses_;
  double step_;
};

// One of DirectedLosses::losses(), tilted: weights w_j = mass_j e^{s·x_j - shift}, x_j counted from
// the first atom.
struct Tilted {
  double total;           // Σ w
  double log_normaliser;  // log Σ mass e^{s·loss}, as log(total) + shift + s·first_loss
  double mean;            // of the loss under the tilted law
  double variance;
};
Tilted TiltOne(const DirectedLoss& loss, double step, double s, std::vector<double>* weights);

}  // namespace dpledger::accountant::pld
