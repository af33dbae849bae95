// The line Re z = c with its nodes, and the bounds on δ from the sum over them. Private to
// contour/; CLAIM.md has the identity and the error budget.
//
// Every term is linear in the steps' counts, so a line laid for one composition serves its
// extensions: adding a step is one vector addition. The bounds hold whatever is added; they widen
// as the composition moves away from the one the line was laid for.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/contour/saddle.h"
#include "accountant/contour/step.h"
#include "accountant/interval.h"

namespace dpledger::accountant::contour {

class Line {
 public:
  // The share of δ that aliasing and truncation may each cost: far below what reports show, above
  // rounding.
  static constexpr double kShare = 1e-12;
  // Products that a line may take, at most: a sixth of a second.
  static constexpr double kGreatestWork = 2e8;

  // The terms of one run of a step: K at the line's nodes, upper bounds on K where the aliases are
  // bounded (`up`, `down`), and a bound on the transform past the line's end (`envelope`).
  struct Terms {
    StepOnLine on_line;
    double up = 0, down = 0, envelope = 0;
  };

  // nullopt if it takes too many nodes, or more than `work`. `room`: the period is this factor
  // longer than this composition needs, for compositions that grow. `terms`, unless null, gets the
  // terms of each step. The bounds hold for any `room` and `share`.
  static absl::StatusOr<std::optional<Line>> Through(Tilting& tilting, const Saddle& saddle,
                                                     double epsilon, double room = 1,
                                                     std::vector<Terms>* terms = nullptr,
                                                     double share = kShare,
                                                     double work = kGreatestWork);

  // Adds count >= 1 runs of a step whose terms were made for this line.
  void Add(const Terms& terms, double count);
  // The terms of a step that is not in the composition yet. False if they take too much work.
  bool TermsFor(const Step& step, const Limits& limits, Terms& terms) const;

  // Bounds on log δ(ε), on log(1 - δ(ε)) where c < 0; for ε near the one the line was laid for
  // (elsewhere they are only looser).
  struct LogDelta {
    double lower, upper;
  };
  LogDelta LogDeltaAt(double epsilon);

  // Contains the ε at which δ(ε) = delta, above 1/2 where c < 0; nullopt if the line's bounds do
  // not enclose it. `guess`
  // is where the search begins; the call sets it to the line's estimate of ε, in either case.
  std::optional<Interval> EpsilonAt(double delta, double& guess);

  double c() const { return c_; }
  double epsilon() const { return epsilon_; }
  // The standard deviation of the loss under the line's tilt when it was laid.
  double deviation() const { return deviation_; }

 private:
  // The sum over the nodes: δ = e^{K(c) - cε}·value. slope = d log(value e^{-cε})/dε.
  struct Sum {
    double value, error, slope;
  };
  bool ChoosePeriod(Tilting& tilting, const Saddle& saddle, double room, double share);
  // Turns the nodes into complex numbers, once the composition is fixed.
  void Prepare();
  Sum At(double epsilon);
  double Level(double epsilon) const { return log_mgf_ - c_ * epsilon; }
  double LevelError(double epsilon) const;
  double Aliases(double epsilon) const;

  // The line's place, the orders that bound the aliases being c + up_ and c - down_.
  double c_ = 0, epsilon_ = 0, deviation_ = 0;
  double spacing_ = 0, period_ = 0, end_ = 0;
  double up_ = 0, down_ = 0;
  double digits_ = 0;
  // The composition on it.
  double log_mgf_ = 0, level_error_ = 0;
  double log_up_ = 0, log_down_ = 0, log_envelope_ = 0;
  std::vector<double> log_modulus_, phase_, error_;
  // Made by Prepare: F's real and imaginary part at each node, y, and the sum's error, c0 + c1·|ε|.
  bool prepared_ = false;
  std::vector<double> re_, im_, y_;
  double error_constant_ = 0, error_slope_ = 0, truncation_ = 0;
  std::vector<double> angle_, sine_, cosine_;
};

}  // namespace dpledger::accountant::contour
