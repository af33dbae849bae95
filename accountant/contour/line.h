// The line Re z = c with its nodes, and the bounds on δ from the sum over them. Private to
// contour/; CLAIM.md has the identity and the error budget.
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

  // nullopt if it takes too many nodes, or more than `work`. `room`: the period is this
  // factor longer than is needed. The bounds hold for any `share` and `room`.
  static absl::StatusOr<std::optional<Line>> Through(Tilting& tilting, const Saddle& saddle,
                                                     double epsilon, double share = kShare,
                                                     double work = kGreatestWork, double room = 1);

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
  // The terms of one run of a step: K at the line's nodes, upper bounds on K where the aliases are
  // bounded (`up`, `down`), and a bound on the transform past the line's end (`envelope`).
  struct Terms {
    StepOnLine on_line;
    double up = 0, down = 0, envelope = 0;
  };
  bool ChoosePeriod(Tilting& tilting, const Saddle& saddle, double share, double room);
  void Add(const Terms& terms, double count);
  // Turns the nodes into complex numbers, once all terms are on them.
  void Prepare();
  Sum At(double epsilon);
  double Level(double epsilon) const { return log_mgf_ - c_ * epsilon; }
  double LevelError(double epsilon) const;
  double Aliases(double epsilon) const;

  // The line's place, the orders that bound the aliases being c + up_ and c - down_.
  double c_ = 0, epsilon_ = 0, deviation_ = 0;
  double spacing_ = 0, period_ = 0, end_ = 0;
  double up_ = 0, down_ = 0;
  // The composition on it.
  double log_mgf_ = 0, level_error_ = 0;
  double log_up_ = 0, log_down_ = 0, log_envelope_ = 0;
  std::vector<double> log_modulus_, phase_, error_;
  // Made by Prepare: F's real and imaginary part at each node, y, and the sum's error, c0 + c1·|ε|.
  std::vector<double> re_, im_, y_;
  double error_constant_ = 0, error_slope_ = 0, truncation_ = 0;
  std::vector<double> angle_, sine_, cosine_;
};

}  // namespace dpledger::accountant::contour
