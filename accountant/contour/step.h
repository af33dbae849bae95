// One step, a Poisson-sampled Gaussian or a pair (pair_loss.h), on a vertical line Re z = c of the
// complex plane: its log-MGF there, as trapezoid sums over t with proved errors. Private to
// contour/; derivations in contour/CLAIM.md.
//
// K(z) = log E[e^{zL}] is log A(z+1) for remove and log A(-z) for add, A(w) = E_{t~N(0,1)}[(1 - q +
// q e^{μt - μ²/2})^w]. The power w at z = c is called the step's power.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "accountant/contour/kernels.h"

namespace dpledger::accountant::contour {

class PairLoss;

// A soft cut N(t) = exp(-e^{(t - at)/width}), from 1 to 0 (shell.h): the measure is the law of t
// times N.
struct Cut {
  double at = std::numeric_limits<double>::infinity(), width = 0;
  bool exists() const { return width > 0; }
};
// E[1 - N(t)] for t ~ N(mean, 1), from above, as a logarithm.
double LogCutUp(const Cut& cut, double mean);

struct Step {
  double q;
  double mu;
  double spread;  // μ is known to this relative error
  double count;
  bool add;  // the direction
  // Another pair's loss in that direction; then q = 1 and mu = 0, so that nothing of a Gaussian
  // is left to it.
  std::shared_ptr<const PairLoss> pair;
  // Of a Poisson-sampled step, for powers outside of (0, 1); sums stop at the cut instead
  // (CutError).
  Cut cut = {};
};

// Whether the step's part of K is so small, or is taken so many times, that 2^-53 of A says nothing
// of it: then K and the transform's bound are taken from A - 1, and from moments, which keep their
// digits (CLAIM.md, "Small steps and many").
inline bool IsFine(const Step& step) {
  return step.q < 1 && (step.mu < 0x1p-6 || step.count > 0x1p24);
}

inline double Power(const Step& step, double c) { return step.add ? -c : c + 1; }

// A trapezoidal rule in t that serves all powers up to a given one. `error`: what it leaves out,
// relative to A.
struct Rule {
  double first, step;  // nodes t = (first + i)·step, i < size
  size_t size;         // 0: the rule would take too many nodes
  double error;
};
// For every power from 0 (add) or 1 (remove) to `power` and every height |Im w| <= greatest_y:
// discretisation costs at most e^{-digits} of A, and cutting the ends about as much.
Rule RuleFor(const Step& step, double power, double greatest_y, double digits);

// RuleFor, as exact as the step's K has to be: more so where A - 1 stands for A, as the error of
// the mean of u is power times that of A.
Rule RuleOfStep(const Step& step, double power, double greatest_y, double digits);

// The rule for an envelope at height eta; its error is relative to A too.
Rule RuleForEnvelope(const Step& step, double power, double eta, double digits);
// The same of r^k in place of 1, r the probability that the record was sampled given t, relative to
// the mean of r^k.
Rule RuleForSampled(const Step& step, double power, double k, double eta, double digits);

// What the sums over nodes leave out or have too much as they stop at the step's cut, relative to
// A, at heights up to the cut's width; and what the mean of u has past it.
double CutError(const Step& step, double power);

Nodes NodesOf(const Step& step, const Rule& rule, const double* loss);

// K(c), K'(c) and K''(c) of one run of the step, to the digits of A.
struct Tilt {
  double log_mgf = 0, error = 0, mean = 0, variance = 0;
};
// K at `power`, given the losses at the rule's nodes. `scratch` as for SumMoments.
Tilt TiltAt(const Step& step, Rule rule, const double* loss, double power, double* scratch);
// The unsampled step, in closed form; any power.
Tilt TiltUnsampled(const Step& step, double power);

// The error of K due to the width of μ's interval: |dK/dμ| <= μ|w(w-1)| (CLAIM.md, line "the width
// of μ").
double SpreadError(const Step& step, double power);

// One run of the step on the nodes y_k = k·spacing, k = 1..nodes, of the line at c.
struct StepOnLine {
  double log_mgf = 0, log_mgf_error = 0;          // K(c)
  std::vector<double> log_modulus, phase, error;  // of E[e^{(c+iy)L}]/E[e^{cL}]
};
// False if it takes more than `work` products, or if a ratio is not above twice its error.
// Subtracts the products made from `work`.
bool PutOnLine(const Step& step, double c, double spacing, size_t nodes, double digits,
               double& work, StepOnLine& result);

}  // namespace dpledger::accountant::contour
