// Moments of the likelihood ratio of one Poisson-sampled Gaussian step, in balls.
//
// 1 + u(t) = 1 - q + q e^{μt - μ²/2}, l = log(1 + u). The moments are E[N(t) (1+u(t))^w] for
// t ~ N(0,1) and a soft cut N, by the trapezoidal rule. Its error is bounded on a strip around the
// real axis: by cells, on each of which the integrand is evaluated as a ball of t.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "tests/twin/ball.h"

namespace dpledger::twin {

// `count` runs of a step in one direction: the loss is L = l under the law (1+u)φ (remove), or -l
// under φ (add), so that E[e^{zL}] = E_φ[(1+u)^w], w = z + 1 or -z.
struct Kind {
  Ball q, mu;
  double count = 1;  // whole
  bool add = false;

  double Power(double c) const { return add ? -c : c + 1; }
};

// N(t) = N(t; high) - N(t; low), N(t; at) = exp(-e^{(t - at)/width}), which falls from 1 to 0; an
// infinite `high` means 1, an infinite `low` 0.
struct Cut {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  double width = 1;

  bool has_low() const { return low > -std::numeric_limits<double>::infinity(); }
  bool has_high() const { return high < std::numeric_limits<double>::infinity(); }
};

// log(1 + u(t)), and e^{power·l} N(t) φ(t).
Ball Loss(const Kind& kind, const Ball& t);
Ball Integrand(const Kind& kind, const Cut& cut, double power, const Ball& t);

// Bounds on the integrand on lines Im t = b, 0 <= b, for one real part of the power.
class Strips {
 public:
  // `need`: what is left out at the ends may cost e^{-need}, absolutely; `greatest_y`: the greatest
  // y for which LogIntegral will be asked.
  Strips(const Kind& kind, const Cut& cut, double power, double need, double greatest_y = 0);

  size_t size() const { return heights_.size(); }
  double height(size_t i) const { return heights_[i].b; }
  // log of an upper bound on ∫ |f(t + ib)| e^{yθ(t)} dt, θ = arg(1 + u(t + ib)) >= 0, b =
  // height(i). For y < 0 it bounds |E[N (1+u)^{power + iy'}]| for every y' >= -y.
  double LogIntegral(size_t i, double y);
  // The same at the best height.
  double LogLeast(double y);

  double from() const { return from_; }
  double to() const { return to_; }
  // log of a bound on ∫ |f(t + ib)| over t < from and t > to together.
  double LogEnds(double b) const;

 private:
  struct Height {
    double b;
    bool built = false;
    std::vector<double> log_size, least_angle, greatest_angle;  // of cells
  };
  void Build(Height& height);
  double LogLeft(double from, double b) const;
  double LogRight(double to, double b) const;

  const Kind& kind_;
  const Cut cut_;
  const double power_;
  const double q_, mu_, log_p_;  // near kind's; log_p_ below log(1 - q)
  double from_ = 0, to_ = 0, cell_ = 0;
  std::vector<Height> heights_;
};

// E[N (1+u)^{power + iy}] on the nodes of a trapezoidal rule.
class Transform {
 public:
  // For |y| <= greatest_y, to e^{-digits}, absolutely. ok() is false where that takes more than
  // `most_nodes`.
  Transform(const Kind& kind, const Cut& cut, double power, double greatest_y, double digits,
            size_t most_nodes = 1 << 16);
  bool ok() const { return ok_; }
  size_t nodes() const { return weights_.size(); }

  Ball AtZero() const;
  // At y = 0, spacing, ..., (count - 1)·spacing, all at most greatest_y. For add y stands for -y:
  // these are E[e^{(c + iy)L} N].
  std::vector<Complex> OnLine(double spacing, size_t count) const;
  Ball At(double y, bool imaginary) const;

 private:
  bool ok_ = false;
  Ball error_;
  std::vector<Ball> losses_, weights_;
};

// |E[N (1+u)^{power + iy'}]| for every y' >= y >= 0 is at most this, by a certified quadrature of
// the integrand's modulus on Im t = b > 0. Without a lower cut.
Ball Envelope(const Kind& kind, const Cut& cut, double power, double y, double b);

// E[(1+u)^{re + i·im}] by certified adaptive quadrature, which shares nothing with Transform.
Complex MomentByQuadrature(const Kind& kind, double re, double im);

// E[1 - N(t; at)] under the step's law of outcomes in the remove direction, from above.
Ball MassAbove(const Kind& kind, double at, double width);

}  // namespace dpledger::twin
