// Chooses where the line lies: K, K' and K'' of a composition at real orders, and the saddle for a
// given δ or ε. Private to contour/.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "accountant/contour/step.h"
#include "accountant/limits.h"

namespace dpledger::accountant::contour {

// K, K' and K'' of the composition at c; |log_mgf - K(c)| <= error.
struct Saddle {
  double c = 0;
  double log_mgf = 0, error = 0, mean = 0, variance = 0;

  // The second derivative in c of log of δ's integrand, K(c) - cε - log(c(1 + c)).
  double Curvature() const { return variance + 1 / (c * c) + 1 / ((1 + c) * (1 + c)); }
  // The ε whose saddle is c.
  double Epsilon() const { return mean - 1 / c - 1 / (1 + c); }
};

// log |c(1 + c)|.
double LogKernel(double c);
// sup over losses of (1 - e^{ε-L})_+ e^{-r(L-ε)} for r > 0 and, for -1 <= r <= 0, of min(1,
// e^{ε-L}) e^{-r(L-ε)}, as a logarithm: δ(ε), or 1 - δ(ε), is at most that times e^{K(r) - rε}.
double LogChernoff(double r);
// The saddle-point estimate of log δ(ε), or of log(1 - δ(ε)) where c < 0 (Alghamdi et al. 2023,
// method of steepest descent, first order).
double LogDeltaEstimate(const Saddle& at, double epsilon);

// Evaluates K within limits: once they are exceeded, every answer is NaN and stopped() says why.
// Keeps each step's losses between calls.
class Tilting {
 public:
  // `limits` must outlive this.
  Tilting(std::vector<Step> steps, const Limits& limits);

  // NaN if that takes too many nodes. c > -1, not 0; the saddle's c is the one at which K is, next
  // to the one that is given.
  Saddle At(double c);

  // One run of the i-th step. Precondition: At(c) was not NaN.
  Tilt StepAt(size_t i, double c);

  // The saddle for a given ε.
  Saddle ForEpsilon(double epsilon, double start);
  // A saddle at which LogDeltaEstimate is log_delta. There may be several, so callers check the
  // bound that comes of it.
  Saddle ForDelta(double log_delta, double start);
  // The same between -1 and 0, of the integrand of 1 - δ.
  Saddle ForEpsilonBelow(double epsilon);
  Saddle ForRest(double log_rest);

  const std::vector<Step>& steps() const { return steps_; }
  const Limits& limits() const { return limits_; }
  const absl::Status& stopped() const { return stopped_; }
  double log_count() const { return log_count_; }

 private:
  // Makes the quadrature rules for orders up to c.
  bool Reach(double c);
  // Where `excess` changes its sign, by Newton's method in log c: it and its slope there.
  template <typename Excess>
  Saddle Above(double start, const Excess& excess);
  // The same between -1 and 0, by halves; it rises with the order.
  template <typename Excess>
  Saddle Below(const Excess& excess);

  const std::vector<Step> steps_;
  const Limits& limits_;
  absl::Status stopped_;
  double log_count_ = 0;
  double reach_ = -1;
  std::vector<Rule> rules_;
  std::vector<double> loss_;  // of all steps, one after the other
  std::vector<size_t> at_;    // where each begins
  std::vector<double> scratch_;
};

}  // namespace dpledger::accountant::contour
