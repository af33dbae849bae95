#include "certify/finder.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace dpledger::certify {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kMostLineNodes = 1 << 17;
constexpr double kMostProducts = 2e8;
constexpr double kMostPoints = 6000;  // of a sum over t
constexpr slong kPairBits = 64;

// log(1+u) - u.
double LogLessU(double u) {
  if (std::fabs(u) > 1e-3) return std::log1p(u) - u;
  return u * u * (-1. / 2 + u * (1. / 3 + u * (-1. / 4 + u * (1. / 5 - u / 6))));
}
// e^x - 1 - x.
double ExpLessLine(double x) {
  if (std::fabs(x) > 1e-3) return std::expm1(x) - x;
  return x * x * (1. / 2 + x * (1. / 6 + x * (1. / 24 + x / 120)));
}
double LogRho(double r) { return r > 0 ? r * std::log(r) - (r + 1) * std::log1p(r) : 0; }

// One sampled step in one direction. Notation as in transform.cc.
class Sampled {
 public:
  Sampled(const SampledGaussian& step, Direction direction)
      : q_(step.q.Middle()),
        mu_(step.mu.Middle()),
        opposed_(step.against == SampledGaussian::Against::kOpposite),
        add_(direction == Direction::kAdd && !opposed_),
        count_(step.count) {}

  double mu() const { return mu_; }
  double count() const { return count_; }

  // log M(r), absolutely to a few bits of M(r) - 1 where that is small.
  double LogMoment(double r) const {
    const double a = Power(r), b = opposed_ ? -r : 0;
    const double strip = std::fmin(0.8 * kPi / mu_, 6);
    const double h =
        std::fmax(2 * kPi * strip / (45 + strip * strip / 2), (To(r) - From(r)) / kMostPoints);
    double greatest = -HUGE_VAL, near_one = 0, sum = 0;
    for (double t = From(r); t <= To(r); t += h) {
      const double u = U(t), other = opposed_ ? U(-t) : 0;
      const double x = a * LogRatio(t) + (opposed_ ? b * LogRatio(-t) : 0), log = x - t * t / 2;
      near_one += std::fabs(x) > 30 ? std::exp(log) - std::exp(-t * t / 2) * (1 + a * u + b * other)
                                    : std::exp(-t * t / 2) *
                                          (ExpLessLine(x) + a * LogLessU(u) + b * LogLessU(other));
      if (log > greatest) sum *= std::exp(greatest - log), greatest = log;
      sum += std::exp(log - greatest);
    }
    const double weight = h / std::sqrt(2 * kPi);
    return std::fabs(near_one * weight) < 0.3 ? std::log1p(near_one * weight)
                                              : greatest + std::log(sum * weight);
  }

  // A rule whose error is about e^{-digits} of M(r).
  Strip RuleFor(double r, double digits) const {
    Strip rule;
    for (int i = 1; i <= 32; ++i) {
      const double height = std::fmin(0.97 * kPi / mu_ / 2, 8) * i / 32;
      const double step = 2 * kPi * height / (digits + 1 + LogMoved(r, 2 * height));
      if (step > rule.step) rule.height = height, rule.step = step;
    }
    SetEnds(r, digits, rule);
    return rule;
  }
  // The height with the least bound on log |M(r + iy)|/M(r), and that bound.
  double BestEnd(double r, double log_moment, double y, Strip& best) const {
    double least = 0;  // without moving t
    best.height = 0;
    for (int i = 1; i <= 16; ++i) {
      const double height = std::fmin(0.97 * kPi / mu_, 40) * std::pow(i / 16.0, 2);
      const double log_bound = LogModulus(r, y, height) - log_moment;
      if (log_bound < least) least = log_bound, best.height = height;
    }
    return least;
  }
  // Where the integrand has fallen to e^{-digits} of its greatest value on both sides, even if
  // moving t makes of it all that it may.
  void SetEnds(double r, double digits, Strip& strip) const {
    digits += LogMoved(r, strip.height);
    const double m = std::sqrt(2 * digits) + 2;
    const double low = From(r) + kAway - m, high = To(r) - kAway + m;
    const double h = std::fmax(0.05, (high - low) / kMostPoints);
    double greatest = -HUGE_VAL;
    for (double t = low; t <= high; t += h) greatest = std::fmax(greatest, LogSize(r, t));
    const auto small = [&](double t) { return LogSize(r, t) < greatest - digits - 3; };
    const double turn = add_ ? 1 : 1 + Power(r) * mu_ * (opposed_ ? 2 : 1);
    for (strip.from = low; strip.from < -1 && small(strip.from + h);) strip.from += h;
    for (strip.to = high; strip.to > turn && small(strip.to - h);) strip.to -= h;
  }

 private:
  static constexpr double kAway = 14;  // of the normal law, in deviations

  double Power(double r) const { return add_ ? -r : r + 1; }
  // As in transform.cc.
  double LogMoved(double r, double by) const {
    return by * by / 2 - (add_ || opposed_ ? r : 0) * std::log(std::cos(mu_ * by / 2));
  }
  double V(double t) const { return mu_ * t - mu_ * mu_ / 2; }
  double U(double t) const { return q_ * std::expm1(V(t)); }
  double LogRatio(double t) const {
    const double v = V(t), u = U(t);
    if (v > 30) return std::log(q_) + v + std::log1p((1 - q_) / q_ * std::exp(-v));
    return u + LogLessU(u);
  }
  double From(double r) const { return -kAway - (add_ ? r * mu_ : 0); }
  double To(double r) const {
    return kAway + mu_ + (add_ ? 0 : (opposed_ ? 2 * r + 1 : r + 1) * mu_);
  }
  double LogSize(double r, double t) const {
    return Power(r) * LogRatio(t) - (opposed_ ? r * LogRatio(-t) : 0) - t * t / 2;
  }
  // log of the integral of the modulus at t + i·height, times e^{-y·angle}.
  double LogModulus(double r, double y, double height) const {
    const double cosine = std::cos(mu_ * height), sine = std::sin(mu_ * height);
    // Where q e^v is 1-q, 1+u may be near 0: a peak where its power is negative.
    const double turn = (std::log((1 - q_) / q_) + mu_ * mu_ / 2) / mu_ + 3;
    const double from = std::fmin(From(r), opposed_ ? -turn : 0);
    const double to = std::fmax(To(r), add_ ? turn : 0);
    const double h = std::fmax(std::fmin(0.25, 0.3 / mu_), (to - from) / kMostPoints);
    // What moving t adds to log(1+u), and the angle.
    const auto moved = [&](double t, double power) {
      const double v = V(t), e = q_ * std::exp(v), whole = 1 - q_ + e;
      if (v > 40) return -y * mu_ * height;
      // |1+u|² = (1+u(t))² - 2(1-q)q e^v (1 - cos).
      return power * std::log1p(-2 * (1 - q_) * e * (1 - cosine) / (whole * whole)) / 2 -
             y * std::atan2(e * sine, 1 - q_ + e * cosine);
    };
    double greatest = -HUGE_VAL, sum = 0;
    for (double t = from; t <= to; t += h) {
      const double log = LogSize(r, t) + moved(t, Power(r)) + (opposed_ ? moved(-t, -r) : 0);
      if (log > greatest) sum *= std::exp(greatest - log), greatest = log;
      sum += std::exp(log - greatest);
    }
    return greatest + std::log(sum * h / std::sqrt(2 * kPi)) + height * height / 2;
  }

  double q_, mu_;
  bool opposed_, add_;
  double count_;
};

// Where a function without other valleys is least, over e^x for x in [low, high].
template <typename F>
double LeastAt(const F& f, double low, double high) {
  const double part = 0.3819660112501051;
  const auto at = [&](double x) {
    const double value = f(std::exp(x));
    return std::isfinite(value) ? value : 1e300;
  };
  double x = low + part * (high - low), y = high - part * (high - low), fx = at(x), fy = at(y);
  for (int i = 0; i < 44; ++i) {
    if (fx < fy) {
      high = y, y = x, fy = fx, x = low + part * (high - low), fx = at(x);
    } else {
      low = x, x = y, fx = fy, y = high - part * (high - low), fy = at(y);
    }
  }
  return std::exp((low + high) / 2);
}

}  // namespace

struct Finder::Model {
  const Composition& of;
  Direction direction;
  double variance;
  std::vector<Sampled> sampled;

  Model(const Composition& composition, Direction which)
      : of(composition), direction(which), variance(composition.variance.Middle()) {
    for (const SampledGaussian& step : of.sampled) sampled.emplace_back(step, direction);
  }
  // K(r).
  double At(double r) const {
    const Bits few(kPairBits);
    double sum = variance * r * (r + 1) / 2;
    for (const Sampled& step : sampled) sum += step.count() * step.LogMoment(r);
    for (const Pair& pair : of.pairs) sum += pair.count * Cumulant(pair, direction, r).Middle();
    for (const Curve& curve : of.curves) sum += curve.count * Cumulant(curve, r).Middle();
    return sum;
  }
  double GreatestOrder() const {
    double most = 6e7;
    for (const Sampled& step : sampled) most = std::fmin(most, 2e3 / step.mu());
    return most;
  }
  Order OrderAt(double r) const {
    Order order{r, {}};
    for (const Sampled& step : sampled)
      order.rules.push_back(step.RuleFor(r, 30 + std::log(step.count())));
    return order;
  }
  // The y at which a bound on the rest of the line is below `wanted`, or too large a one.
  double End(Line& line, const std::vector<double>& moments, double deviation, double level,
             double wanted) const {
    const double all = variance + line.smoothing;
    for (double y = 1 / deviation;; y *= 1.2) {
      double log_end = level - std::log(kPi * y) - all * y * y / 2;
      for (size_t i = 0; i < moments.size(); ++i) {
        log_end += sampled[i].count() * sampled[i].BestEnd(line.tilt, moments[i], y, line.moved[i]);
      }
      if (log_end < wanted || !(y * line.period < 2 * kPi * kMostLineNodes)) return y;
    }
  }
};

Finder::Finder(const Composition& of, Direction direction, double epsilon)
    : model_(std::make_unique<Model>(of, direction)), epsilon_(epsilon) {
  tilt_ =
      LeastAt([&](double c) { return model_->At(c) - c * epsilon_ - std::log(c) - std::log1p(c); },
              -25, std::log(model_->GreatestOrder()));
}
Finder::~Finder() = default;

Order Finder::BestOrder() const {
  const auto log_bound = [&](double r) { return model_->At(r) - r * epsilon_ + LogRho(r); };
  double best = LeastAt(log_bound, -25, std::log(model_->GreatestOrder()));
  // The least of curves with stated orders is at one of them.
  for (const Curve& curve : model_->of.curves)
    for (const double order : curve.orders)
      if (log_bound(order - 1) <= log_bound(best)) best = order - 1;
  return model_->OrderAt(best);
}

std::optional<Line> Finder::FindLine(double tolerance, double smoothing) const {
  const Model& model = *model_;
  Line line;
  line.smoothing = smoothing / (tilt_ * (tilt_ + 1));
  // Apart from the saddle, past which K may rise as a wall.
  const double near = 0.7 * tilt_, apart = 0.01 * tilt_;
  const double curvature =
      (model.At(near + apart) - 2 * model.At(near) + model.At(near - apart)) / (apart * apart);
  const double deviation = std::sqrt(std::fmax(curvature, 0) + 1 / (tilt_ * tilt_));
  // log of δ, about, and of the wanted error.
  const double wanted = model.At(tilt_) - tilt_ * epsilon_ - std::log(tilt_) - std::log1p(tilt_) -
                        std::log1p(deviation * tilt_) + std::log(tolerance);
  if (!std::isfinite(wanted)) return std::nullopt;

  // Below the saddle the line is as good, its terms are greater, and its period may be far shorter.
  line.period = HUGE_VAL;
  double r_above = 0, r_below = 0;
  for (double c = tilt_; c > tilt_ / 50; c *= 0.7) {
    Order above, below;
    double least_above = HUGE_VAL, least_below = wanted < 0 ? -wanted / c : HUGE_VAL;
    const auto take = [&](double r, double away, double& least, double& order) {
      const double period = (model.At(r) - r * epsilon_ + LogRho(r) - wanted) / away;
      if (period > 0 && period < least) least = period, order = r;
    };
    for (double away = 0.03 / deviation; away < 100 / deviation; away *= 1.25) {
      if (c + away < model.GreatestOrder()) take(c + away, away, least_above, above.r);
      if (away < c) take(c - away, away, least_below, below.r);
    }
    const double period = std::fmax(least_above, least_below);
    if (!(period < 0.9 * line.period)) continue;
    line.tilt = c, line.period = period, r_above = above.r, r_below = below.r;
  }
  if (!(line.period < HUGE_VAL)) return std::nullopt;
  const double c = line.tilt, level = model.At(c) - c * epsilon_;
  line.above = model.OrderAt(r_above);
  if (r_below > 0) line.below = model.OrderAt(r_below);

  std::vector<double> moments;
  for (const Sampled& step : model.sampled) moments.push_back(step.LogMoment(c));
  line.moved.resize(moments.size());
  const double y = model.End(line, moments, deviation, level, wanted);
  if (!(y * line.period < 2 * kPi * kMostLineNodes)) return std::nullopt;
  line.last = static_cast<long>(std::ceil(y * line.period / (2 * kPi)));
  double products = static_cast<double>(line.last);
  for (size_t i = 0; i < moments.size(); ++i) {
    const Sampled& step = model.sampled[i];
    const double digits = 6 + level - wanted + std::log(step.count());
    line.rules.push_back(step.RuleFor(c, digits));
    step.SetEnds(c, digits, line.moved[i]);
    const Strip& rule = line.rules.back();
    products += (rule.to - rule.from) / rule.step * static_cast<double>(line.last);
  }
  if (!(products < kMostProducts)) return std::nullopt;
  return line;
}

}  // namespace dpledger::certify
