// One Poisson-sampled Gaussian step with its jumps sorted by size: what is below a soft cut in t,
// and the shell between two of them. Private to contour/; derivations in contour/CLAIM.md, "By the
// largest jump".
//
// N(t; at) = exp(-e^{(t - at)/width}) falls from 1 to 0 around `at`, entire in t. For a power w,
//   below = E_{t~N(0,1)}[N(t; low) (1+u(t))^w],  shell = E[(N(t; high) - N(t; low)) (1+u(t))^w].
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "accountant/contour/step.h"

namespace dpledger::accountant::contour {

// Cuts in t, low < high. low = -∞: nothing is below, and the shell is all that is below `high`;
// high = ∞ (for add alone, whose powers are negative): no upper cut.
struct Window {
  double low, high, width;
};

// A sum over the nodes, E[cut·(1+u)^power] up to e^{log}; with bounds on its rounding as in
// Weighted (kernels.h).
struct CutSum {
  double log = 0;                   // of the sum
  double mean = 0, square = 0;      // of the loss and of its square, under the weights
  double size = 0;                  // of |loss|
  double weight_error = 0;          // relative error of the sum
  double moment_error = 0;          // Σ w·(relative error of w)·|l|, relative
  double loss_error = 0;            // Σ w·|error of l|, relative
  double tail = 0, quadrature = 0;  // what the ends and the step leave out, relative; if asked for
  double Error() const { return weight_error + tail + quadrature; }
};

class Shell {
 public:
  // Precondition: step.q < 1, step.spread = 0. Nodes and cells begin at -margin.
  Shell(const Step& step, const Window& window, double margin);

  const Step& step() const { return step_; }
  bool has_below() const { return has_below_; }
  // Heights beyond which LogIntegral and LogEnvelope have no bound.
  double GreatestHeight() const;
  double GreatestEnvelopeHeight() const;

  // log of an upper bound on ∫ |cut(t+iη) (1+u(t+iη))^power φ(t+iη)| e^{yθ(t)} dt, 0 < η, θ = arg(1
  // + u(t+iη)); infinite where none is found. Sums of suprema over small cells. For y < 0 it bounds
  // |E[cut·(1+u)^{power+iy'}]| for all y' >= -y.
  double LogIntegral(bool below, double power, double eta, double y) const;

  // The same at y < 0 for what is under `high` (low = -∞), nearly without loss: by a trapezoidal
  // sum whose error LogIntegral bounds. `digits`: wanted relative to the value at y = 0. Adds the
  // nodes of the sum to `nodes`.
  double LogEnvelope(double power, double log_scale, double eta, double y, double digits,
                     double& nodes) const;

  // Lays nodes with this step (rounded down to 24 bits). Returns false if there are too many, or
  // too many cells; nothing else may be called then.
  bool Lay(double h);
  size_t nodes() const { return size_; }
  size_t cells() const { return edge_.empty() ? 0 : edge_.size() - 1; }  // of LogIntegral

  // `weights`, unless null, gets the weights over their sum; Padded(nodes()) elements. `eta` > 0:
  // tail and quadrature are bounded, the latter by the strip of that height and |Im w| <= y.
  CutSum At(bool below, double power, double eta, double y, std::vector<double>* weights) const;

  Nodes OnNodes() const { return {step_.q, step_.mu, first_, h_, size_, loss_.data()}; }

 private:
  // The logarithm of |1 + u(t + iη)|², turn = μη, and the angle, at the cells' edges.
  void Turn(double turn, std::vector<double>& log_square, std::vector<double>& angle) const;
  std::vector<double> GreatestOnCells(double power, const std::vector<double>& log_square) const;
  void LogBetween(std::span<const double> low, std::span<const double> x_low, double share,
                  std::span<double> into) const;
  // log of the sum over cells behind LogIntegral, for the modulus (on each cell) and angle given;
  // the cut to the power `cosine`. `greatest_turn`: of the angle.
  double Riemann(bool below, double power, const std::vector<double>& by_power,
                 const std::vector<double>& angle, double greatest_turn, double cosine,
                 double y) const;
  double LogLeft(bool below, double power) const;
  double LogTail(bool below, double power, double t, double turn, double cosine) const;

  Step step_;
  Window window_;
  bool has_below_, uncut_;
  double left_, right_;
  double between_ = 1;  // (x_low - x_high) / x_low
  // Cells for LogIntegral: at their edges v, e^v, the cuts' exponents, and log x_low.
  double cell_;
  std::vector<double> edge_, v_, rise_, x_low_, x_high_, low_;
  // Nodes.
  double first_ = 0, h_ = 0;
  size_t size_ = 0;
  std::vector<double> time_, loss_, posterior_;
  std::vector<double> log_below_, log_shell_;      // of the cut, -t²/2 included
  std::vector<double> below_error_, shell_error_;  // of these, in unit roundoffs
};

// log(1 - q + q e^{μt - μ²/2}) = loss, for loss > 0.
double PlaceOf(const Step& step, double loss);

// Calls visit(eta) for the heights that are tried, from the greatest down. Any height is valid.
template <typename F>
void ForHeights(double greatest, F visit) {
  constexpr int kHeights = 10;
  constexpr double kStep = 0.62;
  for (int i = 0; i < kHeights; ++i, greatest *= kStep) visit(greatest);
}

}  // namespace dpledger::accountant::contour
