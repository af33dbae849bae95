#include "accountant/rdp/sampled_gaussian.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/vector_math.h"

namespace dpledger::accountant::rdp {
namespace {

constexpr double kGreatestNodes = 1 << 14;
// Terms so much below the greatest exponent are counted as if they were there.
constexpr double kNegligible = 45;

// log(1 + u) - u, relative error a few ulp. u > -1.
double Log1PMinusX(double u) {
  if (std::fabs(u) > 0.25) return std::log1p(u) - u;
  double power = -u * u, sum = 0;
  for (int k = 2; std::fabs(power / k) > 1e-18 * std::fabs(sum); ++k) {
    sum += power / k;
    power *= -u;
  }
  return sum;
}

// log(1 - q + q e^y): the loss of the mixture where the base mechanism's loss is y. q in (0, 1];
// any finite y. Relative error: a few ulp of the result and the effect of y's rounding. Near the
// lower end log(1 - q) the two terms are added, not subtracted; e^y is factored out of the
// logarithm only where q e^y > e.
double SampledLoss(double q, double y) {
  if (q == 1) return y;
  if (y > 50 && y > 1 - std::log(q))
    return std::log(q) + y + std::log1p((1 - q) / q * std::exp(-y));
  const double u = q * std::expm1(y);
  return u > -0.5 ? std::log1p(u) : std::log((1 - q) + q * std::exp(y));
}

// -log of the quadrature's relative error: 1e-17 of the least A - 1 that orders from 1.001 have,
// which is about q² min(1, μ²)(α - 1)α/2.
double Digits(double q, double mu) {
  const double least = -2 * std::log(q) - 2 * std::log(std::fmin(1, mu)) + 7.6;
  return 39.2 + std::fmin(100, 2 + least);
}

// The trapezoid's step. f(t) = φ(t)(1+u(t))^α is analytic for |Im t| < π/μ and |f(t + ia)| <=
// e^{a²/2} f(t) there, so the relative error is at most 2 e^{a²/2}/(e^{2πa/h} - 1) (Trefethen and
// Weideman 2014, thm. 5.1).
double Step(double mu, double digits) {
  const double a = std::fmin(0.99 * kPi / mu, std::sqrt(2 * digits));
  return 2 * kPi * a / (digits + 0.7 + a * a / 2);
}

// e^y - 1 - y for |y| <= 1/2, relative error a few u: y² Σ y^k/(k+2)!, the rest below y^14·2/16!.
double SmallExpM1MinusX(double y) {
  constexpr double kCoefficients[] = {
      1.0 / 1307674368000, 1.0 / 87178291200, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800,
      1.0 / 3628800,       1.0 / 362880,      1.0 / 40320,      1.0 / 5040,      1.0 / 720,
      1.0 / 120,           1.0 / 24,          1.0 / 6,          1.0 / 2};
  double sum = 0;
  for (const double coefficient : kCoefficients) sum = sum * y + coefficient;
  return y * y * sum;
}

// For orders this great Minkowski's inequality loses nothing: A >= q^α e^{α(α-1)μ²/2}, and the
// bound exceeds that by less than α(1-q)/q e^{-(α-1)μ²/2} in the logarithm.
bool MinkowskiIsExact(double q, double mu, double order) {
  return (order - 1) * mu * mu / 2 > 37 + std::log(order / q);
}

// log A <= α log(1 - q + q ‖e^{μt - μ²/2}‖_α), by Minkowski's inequality; the norm is
// e^{(α-1)μ²/2}.
double MinkowskiBound(double q, double mu, double order) {
  const double y = MulUp(MulUp(NextUp(order - 1), mu), mu) / 2;
  return MulUp(order, SampledLoss(q, y) * (1 + 8 * kUnitRoundoff)) +
         8 * kUnitRoundoff * order * (1 - std::log(q));
}

}  // namespace

SampledGaussianMoments::SampledGaussianMoments(double q, double mu, double reach)
    : q_(q),
      mu_(mu),
      reach_(reach),
      digits_(Digits(q, mu)),
      h_(Step(mu, digits_)),
      first_(std::floor(-reach / h_)),
      quadrature_error_(std::exp(-digits_)) {}

void SampledGaussianMoments::Extend(size_t count) {
  if (loss_.empty()) {
    const double t = first_ * h_, u = q_ * std::expm1(mu_ * t - mu_ * mu_ / 2);
    first_square_ = std::exp(-0.5 * t * t) * u * u;
  }
  const double log_q = std::log(q_), linear_from = 45 + std::fmax(0, std::log1p(-q_) - log_q);
  for (auto* nodes : {&loss_, &exponent_, &weight_, &size_, &concave_, &concave_size_})
    if (nodes->capacity() < count) nodes->reserve(2 * count);
  for (size_t i = loss_.size(); i < count; ++i) {
    const double t = (first_ + static_cast<double>(i)) * h_;
    const double y = mu_ * t - mu_ * mu_ / 2;
    // Beyond linear_from 1 - q is less than the roundoff of q e^y.
    loss_.push_back(y > linear_from ? log_q + y : SampledLoss(q_, y));
    exponent_.push_back(-0.5 * t * t);
    // Past 40 it is below doubles, where exp is slow to say so.
    weight_.push_back(t < 40 ? std::exp(exponent_.back() - kLogSqrtTwoPi) : 0);
    size_.push_back(1 + 0.5 * t * t + mu_ * std::fabs(t) + mu_ * mu_);
    const double u = q_ * std::expm1(y);
    // Near u = -1 it is only the loss that has the digits of 1 + u.
    const double concave =
        weight_.back() > 0 ? weight_.back() * (u < -0.5 ? loss_.back() - u : Log1PMinusX(u)) : 0;
    concave_.push_back((i > 0 ? concave_.back() : 0) + concave);
    concave_size_.push_back((i > 0 ? concave_size_.back() : 0) - concave * size_.back());
  }
}

double SampledGaussianMoments::LogMomentUp(double order) {
  if (q_ == 1) return MulUp(MulUp(order, NextUp(order - 1)), MulUp(mu_, mu_)) / 2;
  const double nodes = (std::fmax(order, 2) * mu_ + reach_) / h_ - first_ + 2;
  if (!(nodes < kGreatestNodes) || MinkowskiIsExact(q_, mu_, order))
    return MinkowskiBound(q_, mu_, order);
  const auto count = static_cast<size_t>(nodes);
  Extend(count);
  if (order > near_below_) {
    const double far = FarFromOne(order, count);
    if (!(far < 0.5)) return far;
    near_below_ = order;
  }
  const double near = NearOne(order, count);
  return std::isfinite(near) ? near : FarFromOne(order, count);
}

// log A(α) by a log-domain sum of positive terms.
double SampledGaussianMoments::FarFromOne(double order, size_t count) {
  scratch_.resize(std::max(scratch_.size(), count));
  double greatest = -kInfinity;
  for (size_t i = 0; i < count; ++i) {
    scratch_[i] = order * loss_[i] + exponent_[i];
    greatest = std::max(greatest, scratch_[i]);
  }
  const double cut = greatest - kNegligible;
  size_t from = 0, to = count;
  while (scratch_[from] < cut) ++from;
  while (scratch_[to - 1] < cut) --to;
  const auto outermost = [&](double log) {
    return log < cut ? std::exp(-kNegligible) : std::exp(log - greatest);
  };
  const double tails = Tails(outermost(scratch_[0]), outermost(scratch_[count - 1])) / h_;
  for (size_t i = from; i < to; ++i) scratch_[i] -= greatest;
  const std::span<double> window(scratch_.data() + from, to - from);
  Exp(window, window);
  double sum = tails + static_cast<double>(count - window.size()) * std::exp(-kNegligible);
  for (const double term : window) sum += term;
  const double value = greatest + std::log(sum * h_) - kLogSqrtTwoPi;
  // Losses, squares and exponents are greatest at the window's ends.
  double magnitude = 0;
  for (const size_t i : {from, to - 1}) {
    magnitude = std::fmax(magnitude, order * (std::fabs(loss_[i]) + size_[i] + exponent_[i]) -
                                         2 * exponent_[i] - order * std::log(q_));
  }
  return value + kUnitRoundoff * (16 + static_cast<double>(window.size()) + 8 * magnitude +
                                  4 * std::fabs(value));
}

// ∫ beyond the outermost nodes, of an integrand that is at most `left` and `right` there and falls
// faster than e^{-(reach - 1)|t|} from there on.
double SampledGaussianMoments::Tails(double left, double right) const {
  return (left + right) / (reach_ - 1);
}

// Σ φ (e^y - 1 - y), y = α log(1+u); adds to `error` the terms with their sizes.
double SampledGaussianMoments::Convex(double order, size_t count, double& error) {
  // Losses increase: y < -1/2, |y| <= 1/2 and y > 1/2 in turn.
  const auto up_to = [&](double y) {
    return static_cast<size_t>(
        std::upper_bound(loss_.begin(), loss_.begin() + static_cast<ptrdiff_t>(count), y / order) -
        loss_.begin());
  };
  const size_t low = up_to(-0.5), high = up_to(0.5);
  scratch_.resize(std::max(scratch_.size(), count));
  for (size_t i = 0; i < low; ++i) scratch_[i] = order * loss_[i];
  Exp({scratch_.data(), low}, {scratch_.data(), low});
  for (size_t i = 0; i < low; ++i)
    scratch_[i] = weight_[i] * ((scratch_[i] - 1) - order * loss_[i]);
  for (size_t i = low; i < high; ++i) scratch_[i] = weight_[i] * SmallExpM1MinusX(order * loss_[i]);
  // Far out e^y overflows where φ e^y does not.
  for (size_t i = high; i < count; ++i)
    scratch_[i] = order * loss_[i] + (exponent_[i] - kLogSqrtTwoPi);
  const std::span<double> right(scratch_.data() + high, count - high);
  Exp(right, right);
  for (size_t i = high; i < count; ++i) scratch_[i] -= weight_[i] * (1 + order * loss_[i]);
  double sum = 0, sizes = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += scratch_[i];
    sizes += scratch_[i] * (size_[i] + std::max(0.0, order * loss_[i]));
  }
  error += sizes;
  return sum;
}

// For A(α) near 1: sums G = A - 1 = E[(1+u)^α - 1 - αu], whose terms are O(u²), so that nothing is
// lost to the 1 (E[u] = 0 exactly, and the trapezoid's error on φ and φu is covered by the same
// strip bound).
double SampledGaussianMoments::NearOne(double order, size_t count) {
  double sizes = order * concave_size_[count - 1];
  const double sum = Convex(order, count, sizes) + order * concave_[count - 1];
  // (1+u)^α - 1 - αu is at most f u² for u <= 0; for u >= 0 at most (1+u)^α, and at most
  // f u² (1+u)^{max(α,2)-2}, where u/(1+u) = 1 - e^{-l} < l.
  const double f = (order - 1) * std::fmax(1, order / 2), last = loss_[count - 1];
  const double below_two = order < 2 ? std::exp((2 - order) * last) : 1;
  const double tails = Tails(first_square_ * f, std::exp(exponent_[count - 1] + order * last) *
                                                    std::fmin(1, f * last * last * below_two));
  // Rounding, and the quadrature's own error on E[(1+u)^α] < 2, E[1] and α E[|u|] <= 2αq.
  const double error = h_ * sizes * (32 + static_cast<double>(count)) * kUnitRoundoff +
                       3 * (1 + order * q_) * quadrature_error_ + tails;
  return NextUp(std::log1p(h_ * sum + error) * (1 + 8 * kUnitRoundoff));
}

}  // namespace dpledger::accountant::rdp
