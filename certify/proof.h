// Bounds on δ(ε) of a composition in one direction, proved in balls. CLAIM.md derives each. The
// parameters come from the finder (finder.h) or from anybody: whatever they are, the bounds hold.
#pragma once

#include <vector>

#include "certify/ball.h"
#include "certify/composition.h"
#include "certify/transform.h"

namespace dpledger::certify {

// lower <= δ(ε) <= upper, for every point of both balls.
struct Bounds {
  Ball lower = 0.0;
  Ball upper = 1.0;
};

// K(r) = log E[e^{rL}; L finite] of one run.
Ball Cumulant(const Pair& pair, Direction direction, const Ball& r);
Ball Cumulant(const Curve& curve, const Ball& r);

// An order r > 0 of Chernoff's bound, with a rule for each sampled step.
struct Order {
  double r = 0;
  std::vector<Strip> rules;
};
// log of δ(ε) <= e^{K(r) - rε} r^r/(1+r)^{1+r}, without infinite losses' mass. Curves count.
Ball LogChernoff(const Composition& of, Direction direction, const Ball& epsilon,
                 const Order& order);

// The contour integral. CLAIM.md, section 1.
struct Line {
  double tilt = 0;
  double period = 0;
  long last = 0;                    // node; the first is 0
  double smoothing = 0;             // variance of a Gaussian that is added to end the line
  std::vector<Strip> rules, moved;  // of each sampled step: on the line, and for its end
  Order above, below;               // of the aliases; below.r = 0: δ <= 1 is used
};
// The contour integral along one line, for any ε. All bounds hold; near the line's own ε they are
// narrow. `of` must outlive it.
class LineSum {
 public:
  LineSum(const Composition& of, Direction direction, const Line& line);
  Bounds At(const Ball& epsilon) const;

 private:
  // What E[e^{zL}; L finite] of all steps is at one node of the line, over its value at y = 0.
  struct Ratio {
    Complex log;
    bool lost = false;  // its phase: some factor may be 0
    void Multiply(const Complex& moment, const Ball& log_zero, double count);
    Complex Value() const { return lost ? Complex().Widened(Exp(log.Re())) : Exp(log); }
  };

  Ball Y(long j) const { return h_ * static_cast<double>(j); }
  Ball Multiply(const std::vector<Complex>& moments, double count, std::vector<Ratio>& ratios);
  void TakeSampled(size_t i, std::vector<Ratio>& ratios);
  // log of Chernoff's bound at ε = 0; without an order, of 1.
  Ball AtZero(const Order& order) const;
  // Σ over m >= 1 of e^{mcD} times Chernoff's bound at ε + mD, and the same for m <= -1, all over
  // e^{log_scale}.
  Ball Aliases(const Ball& epsilon, const Ball& log_scale) const;

  const Composition& of_;
  Direction direction_;
  Line line_;
  Ball c_, h_, smoothing_, variance_;
  bool good_;
  // K(c), and the logarithm of a bound on the ratio past the end, where pairs count as 1.
  Ball level_, log_end_;
  std::vector<Complex> terms_, kernels_;  // at ε = 0; times 1/(z(z+1))
  Ball infinite_, above_, below_;
};
inline Bounds OnLine(const Composition& of, Direction direction, const Ball& epsilon,
                     const Line& line) {
  return LineSum(of, direction, line).At(epsilon);
}

// Without a line: Gaussians alone; one sampled step alone; one run of a pair alone; pairs of few
// point masses, by all outcomes. Not finite where none of them applies.
Ball ClosedDelta(const Composition& of, Direction direction, const Ball& epsilon);

// The mass of infinite losses.
Ball InfiniteMass(const Composition& of, Direction direction);
// The least bound on all finite losses; infinite where none is known.
Ball GreatestLoss(const Composition& of, Direction direction);

}  // namespace dpledger::certify
