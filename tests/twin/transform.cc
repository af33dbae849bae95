#include "tests/twin/transform.h"

#include <acb_calc.h>

#include <algorithm>
#include <cmath>

namespace dpledger::twin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.14159265358979323846;
constexpr slong kCellBits = 48;
// Heights are tried from above, until so many in a row are worse than the best.
constexpr size_t kWorse = 3;
// Bounds at the ends are computed in doubles, far below 1e9 in size, and rounded up by this.
constexpr double kSlack = 1e-6;

double LogSum(double a, double b) {
  const double high = std::fmax(a, b), low = std::fmin(a, b);
  return low == -kInfinity || high == kInfinity ? high : high + std::log1p(std::exp(low - high));
}

const Ball& SqrtTwoPi() {
  static const Ball* const value = [] {
    const Bits wide(1024);
    return new Ball(Sqrt(2.0 * Pi()));
  }();
  return *value;
}

// e^{(t - at)/width}.
Ball Rise(const Ball& t, double at, double width) { return Exp((t - at) / width); }

// e^{(high - low)/width} - 1: the lower cut's exponent is one more than that times the upper one's.
Ball Steeper(const Cut& cut) { return ExpM1((Ball(cut.high) - cut.low) / cut.width); }

}  // namespace

Ball Loss(const Kind& kind, const Ball& t) {
  return Log1P(kind.q * ExpM1(kind.mu * t - kind.mu * kind.mu / 2.0));
}

Ball Integrand(const Kind& kind, const Cut& cut, double power, const Ball& t) {
  Ball f = Exp(Ball(power) * Loss(kind, t) - t * t / 2.0) / SqrtTwoPi();
  if (cut.has_high()) {
    const Ball high = Rise(t, cut.high, cut.width);
    f = f * Exp(-high);
    if (cut.has_low()) f = f * -ExpM1(-(high * Steeper(cut)));
  } else if (cut.has_low()) {
    f = f * -ExpM1(-Rise(t, cut.low, cut.width));
  }
  return f;
}

Strips::Strips(const Kind& kind, const Cut& cut, double power, double need, double greatest_y)
    : kind_(kind),
      cut_(cut),
      power_(power),
      q_(kind.q.Middle()),
      mu_(kind.mu.Middle()),
      log_p_(CertainlyLess(kind.q, 1.0) ? Lower(Log1P(-kind.q)) : -kInfinity) {
  double greatest = std::fmin(13, 0.95 * kPi / mu_);
  if (cut.has_low() || cut.has_high()) greatest = std::fmin(greatest, 0.95 * kPi / 2 * cut.width);
  for (int i = 0; i < 18; ++i, greatest *= 0.72) heights_.push_back({greatest, false, {}, {}, {}});
  for (from_ = -1; from_ > -1e5 && !(LogLeft(from_, 0) < -need);) from_ *= 1.05;
  // Where the angle counts, it is μb at most.
  const double turn = greatest_y * mu_ * heights_[0].b / 4;
  const double beyond = need + (cut.has_high() ? turn : std::fmin(turn, 60));
  for (to_ = 1 + mu_ / 2; to_ < 1e5 && !(LogRight(to_, 0) < -beyond);) to_ *= 1.02;
  // Suprema over cells cost no more than a few units of the logarithm, where that is not too many.
  cell_ = std::fmin(0.1, 2 / (1 + std::fabs(power) * mu_));
  if (cut.has_low() || cut.has_high()) cell_ = std::fmin(cell_, cut.width / 4);
  cell_ = std::fmax(cell_, std::fmin((to_ - from_) / 700, 0.5 / mu_));
}

// On t < from the modulus of (1+u)^power is at most 1 for a power >= 0; below it is at most
// (1-q)^power, and also e^{power·v}, over cos(μb/2)^{-power}. Of the cut, |N(high) - N(low)| is at
// most 2, and at most e^{(t - low)/width} (for moduli e^{-Re z} <= 1 between the two).
double Strips::LogLeft(double from, double b) const {
  double log_size = -from * from / 2 + b * b / 2 - 0.9;
  double slope = -from;
  if (power_ < 0) {
    const double half = std::log(std::cos(mu_ * b / 2));
    const double flat = power_ * (log_p_ + half);
    const double steep = power_ * (mu_ * from - mu_ * mu_ / 2 + half);
    if (steep < flat && -from + power_ * mu_ > 0) {
      log_size += steep;
      slope = -from + power_ * mu_;
    } else {
      log_size += flat;
    }
  }
  if (cut_.has_low()) log_size += std::fmin(std::log(2), (from - cut_.low) / cut_.width);
  if (!(slope > 0)) return kInfinity;
  return log_size - std::log(slope) + kSlack * (1 + std::fabs(log_size) * 1e-6);
}

// On t > to >= μ/2, where v >= 0: 1+u = e^v (q + (1-q)e^{-v}); the logarithm's slope falls.
double Strips::LogRight(double to, double b) const {
  double log_size = -to * to / 2 + b * b / 2 - 0.9, slope = -to;
  const double v = mu_ * to - mu_ * mu_ / 2;
  if (!(v >= 0)) return kInfinity;
  if (power_ > 0) {
    const double rest = std::fmin(0, std::log(q_ + std::exp(log_p_ + 1e-15 - v)) + 1e-12);
    log_size += power_ * (v + rest);
    slope += power_ * mu_;
  } else {
    log_size += power_ * std::log(std::cos(mu_ * b / 2));
  }
  if (cut_.has_high()) {
    const double share = std::cos(b / cut_.width);
    const double rise = std::exp(std::fmin(600, (to - cut_.high) / cut_.width));
    if (!(share > 0)) return kInfinity;
    log_size -= rise * share;
    slope -= rise * share / cut_.width;
    if (cut_.has_low()) log_size += std::log(2);
  } else if (cut_.has_low()) {
    log_size += std::log(2);
  }
  if (!(slope < 0)) return kInfinity;
  return log_size - std::log(-slope) + kSlack * (1 + std::fabs(log_size) * 1e-6);
}

double Strips::LogEnds(double b) const { return LogSum(LogLeft(from_, b), LogRight(to_, b)); }

void Strips::Build(Height& height) {
  height.built = true;
  const Bits coarse(kCellBits);
  const Ball b = height.b, p = Ball(1.0) - kind_.q;
  const Ball cosine = Cos(kind_.mu * b), sine = Sin(kind_.mu * b);
  const size_t cells = static_cast<size_t>(std::ceil((to_ - from_) / cell_));
  const Ball turn = cut_.has_low() || cut_.has_high() ? b / cut_.width : Ball(0.0);
  const Ball steeper = cut_.has_high() && cut_.has_low() ? Steeper(cut_) : Ball(1.0);
  for (size_t i = 0; i < cells; ++i) {
    const double from = from_ + static_cast<double>(i) * cell_;
    const Ball t = Between(from, std::nextafter(from + cell_, kInfinity));
    const Ball v = kind_.mu * t - kind_.mu * kind_.mu / 2.0;
    const Ball r = kind_.q * Exp(v);
    // |p + r e^{iμb}|², the greater of the two taken out: r is a wide ball.
    const bool rises = CertainlyLess(p, r);
    const Ball share = rises ? p / r : r / p;
    const Ball log_square =
        2.0 * (rises ? Log(kind_.q) + v : Log(p)) + Log1P(share * (2.0 * cosine + share));
    Ball size = Ball(power_ / 2) * log_square - t * t / 2.0 + b * b / 2.0 - Log(SqrtTwoPi());
    const auto log_between = [&](const Ball& modulus) {
      const Complex z(-(modulus * Cos(turn)), -(modulus * Sin(turn)));
      return Log(Modulus(ExpM1(z)).Greatest());
    };
    if (cut_.has_high()) {
      const Ball high = Rise(t, cut_.high, cut_.width);
      size = size - high * Cos(turn);
      if (cut_.has_low()) size = size + log_between(high * steeper);
    } else if (cut_.has_low()) {
      size = size + log_between(Rise(t, cut_.low, cut_.width));
    }
    const Ball angle = Angle(r * sine, p + r * cosine);
    const double log_size = Upper(size);
    height.log_size.push_back(std::isnan(log_size) ? kInfinity : log_size);
    height.least_angle.push_back(std::fmax(0, Lower(angle)));
    height.greatest_angle.push_back(
        std::fmin(std::nextafter(height.b * Upper(kind_.mu), 4), Upper(angle)));
  }
}

double Strips::LogIntegral(size_t i, double y) {
  Height& height = heights_[i];
  if (!height.built) Build(height);
  const size_t cells = height.log_size.size();
  const std::vector<double>& angle = y < 0 ? height.least_angle : height.greatest_angle;
  double greatest = -kInfinity;
  for (size_t j = 0; j < cells; ++j)
    greatest = std::fmax(greatest, height.log_size[j] + y * angle[j]);
  if (!(greatest < kInfinity)) return kInfinity;
  double sum = 0;
  for (size_t j = 0; j < cells; ++j) sum += std::exp(height.log_size[j] + y * angle[j] - greatest);
  const double inside =
      greatest + std::log(sum * cell_ * (1 + 1e-9)) + 1e-12 * (1 + std::fabs(greatest)) + kSlack;
  const double turn = y > 0 ? y : 0;
  const double left = LogLeft(from_, height.b) + turn * height.greatest_angle.front();
  const double right = LogRight(to_, height.b) + turn * height.b * mu_ * (1 + 1e-12);
  return LogSum(inside, LogSum(left, right));
}

double Strips::LogLeast(double y) {
  double least = kInfinity;
  size_t worse = 0;
  for (size_t i = 0; i < size() && (worse < kWorse || least == kInfinity); ++i, ++worse) {
    const double at = LogIntegral(i, y);
    if (at < least) least = at, worse = 0;
  }
  return least;
}

Transform::Transform(const Kind& kind, const Cut& cut, double power, double greatest_y,
                     double digits, size_t most_nodes) {
  Strips strips(kind, cut, power, digits + 2, greatest_y);
  double step = 0, error = kInfinity;
  size_t worse = 0;
  for (size_t i = 0; i < strips.size() && (worse < kWorse || !(step > 0)); ++i) {
    ++worse;
    const double log_strip = strips.LogIntegral(i, greatest_y);
    const double exponent = std::fmax(2, log_strip + digits + std::log(2) + 1);
    const double wanted = 2 * kPi * strips.height(i) / exponent;
    if (!(wanted > step) || !std::isfinite(log_strip)) continue;
    step = wanted, worse = 0;
    // The residue theorem, on the lines Im t = ±b: 2 ∫|f| / (e^{2πb/h} - 1).
    error = log_strip + std::log(2) - exponent - std::log(-std::expm1(-exponent)) + kSlack;
  }
  if (!(step > 0)) return;
  const double first = std::floor(strips.from() / step) - 1;
  const double count = std::ceil(strips.to() / step) + 1 - first + 1;
  if (!(count > 0 && count <= static_cast<double>(most_nodes))) return;
  for (double i = 0; i < count; ++i) {
    const Ball t = Ball(first + i) * step;
    losses_.push_back(kind.add ? -Loss(kind, t) : Loss(kind, t));
    weights_.push_back(Integrand(kind, cut, power, t) * step);
  }
  // Nodes go past both ends. What follows falls, so that its trapezoidal sum is below its integral.
  error_ = Exp(Ball(error)) + Exp(Ball(strips.LogEnds(0)));
  ok_ = true;
}

Ball Transform::AtZero() const {
  Ball sum;
  for (const Ball& weight : weights_) sum = sum + weight;
  return sum.Widened(error_);
}

std::vector<Complex> Transform::OnLine(double spacing, size_t count) const {
  const slong n = static_cast<slong>(nodes());
  acb_ptr turned = _acb_vec_init(n), turn = _acb_vec_init(n);
  arb_ptr weight = _arb_vec_init(n);
  const auto set_turn = [&](acb_ptr into, slong i, const Ball& times) {
    const Ball angle = losses_[i] * spacing * times;
    arb_sin_cos(acb_imagref(into + i), acb_realref(into + i), angle.get(), bits);
  };
  for (slong i = 0; i < n; ++i) {
    set_turn(turn, i, 1.0);
    arb_set(weight + i, weights_[i].get());
  }
  // A product turns the rectangle of its factor's errors, whose hull may be √2 times as wide: so
  // the turns are made anew before that is felt.
  constexpr size_t kTurns = 24;
  std::vector<Complex> result;
  for (size_t k = 0; k < count; ++k) {
    Ball re, im;
    for (slong i = 0; i < n; ++i) {
      if (k % kTurns == 0) {
        set_turn(turned, i, static_cast<double>(k));
      } else {
        acb_mul(turned + i, turned + i, turn + i, bits);
      }
    }
    arb_dot(re.get(), nullptr, 0, acb_realref(turned), 2, weight, 1, n, bits);
    arb_dot(im.get(), nullptr, 0, acb_imagref(turned), 2, weight, 1, n, bits);
    result.push_back(Complex(re, im).Widened(error_));
  }
  _acb_vec_clear(turned, n);
  _acb_vec_clear(turn, n);
  _arb_vec_clear(weight, n);
  return result;
}

namespace {

struct Moment {
  const Kind& kind;
  const Cut& cut;
  double re, im, b;  // b = 0: the moment's integrand; else the modulus of it on Im t = b
};

// 1 + u, or what is no number where an analytic continuation is asked for and there is none.
void OnePlusU(acb_t into, const Kind& kind, const acb_t t, double b, slong prec) {
  acb_t v;
  acb_init(v);
  acb_set(v, t);
  arb_t height;
  arb_init(height);
  arb_set_d(height, b);
  arb_add(acb_imagref(v), acb_imagref(v), height, prec);
  arb_clear(height);
  acb_mul_arb(v, v, kind.mu.get(), prec);
  Ball half = kind.mu * kind.mu / 2.0;
  acb_sub_arb(v, v, half.get(), prec);
  acb_exp(v, v, prec);
  acb_sub_ui(v, v, 1, prec);
  acb_mul_arb(v, v, kind.q.get(), prec);
  acb_add_ui(into, v, 1, prec);
  acb_clear(v);
}

int EvaluateMoment(acb_ptr into, const acb_t t, void* parameters, slong order, slong prec) {
  const Moment& of = *static_cast<const Moment*>(parameters);
  acb_t up, down, exponent, part;
  acb_init(up), acb_init(down), acb_init(exponent), acb_init(part);
  OnePlusU(up, of.kind, t, of.b, prec);
  acb_log_analytic(up, up, order != 0, prec);
  // -t²/2 + b²/2.
  acb_mul(exponent, t, t, prec);
  acb_neg(exponent, exponent);
  acb_mul_2exp_si(exponent, exponent, -1);
  acb_set_d(part, of.b * of.b / 2);
  acb_add(exponent, exponent, part, prec);
  if (of.b == 0) {
    acb_set_d_d(part, of.re, of.im);
    acb_addmul(exponent, up, part, prec);
  } else {
    OnePlusU(down, of.kind, t, -of.b, prec);
    acb_log_analytic(down, down, order != 0, prec);
    // re·(l₊ + l₋)/2 - im·(l₊ - l₋)/(2i).
    acb_set_d_d(part, of.re / 2, of.im / 2);
    acb_addmul(exponent, up, part, prec);
    acb_conj(part, part);
    acb_addmul(exponent, down, part, prec);
  }
  if (of.cut.has_high()) {
    acb_set_d(part, of.cut.high);
    acb_sub(part, t, part, prec);
    Ball width = of.cut.width, share = Cos(Ball(of.b) / of.cut.width);
    acb_div_arb(part, part, width.get(), prec);
    acb_exp(part, part, prec);
    acb_mul_arb(part, part, share.get(), prec);
    acb_sub(exponent, exponent, part, prec);
  }
  acb_exp(into, exponent, prec);
  acb_div_arb(into, into, SqrtTwoPi().get(), prec);
  acb_clear(up), acb_clear(down), acb_clear(exponent), acb_clear(part);
  return 0;
}

Complex Integral(const Moment& of, double from, double to, slong good) {
  Complex result, a(from, 0.0), b(to, 0.0);
  mag_t tolerance;
  mag_init(tolerance);
  mag_set_ui_2exp_si(tolerance, 1, -good - 40);
  acb_calc_integrate(result.get(), EvaluateMoment, const_cast<Moment*>(&of), a.get(), b.get(), good,
                     tolerance, nullptr, bits);
  mag_clear(tolerance);
  return result;
}

}  // namespace

Ball Envelope(const Kind& kind, const Cut& cut, double power, double y, double b) {
  const Bits coarse(64);
  const Strips strips(kind, cut, power, 80);
  return Integral({kind, cut, power, y, b}, strips.from(), strips.to(), 50).Re() +
         Exp(Ball(strips.LogEnds(b)));
}

Complex MomentByQuadrature(const Kind& kind, double re, double im) {
  const Cut none;
  Strips strips(kind, none, re, static_cast<double>(bits) * 0.7);
  return Integral({kind, none, re, im, 0}, strips.from(), strips.to(), bits * 3 / 4)
      .Widened(Exp(Ball(strips.LogEnds(0))));
}

Ball MassAbove(const Kind& kind, double at, double width) {
  const Bits coarse(kCellBits);
  const double cell = std::fmin(0.1, width / 4), to = std::fmax(at, 0) + 4 + Upper(kind.mu);
  const Ball p = Ball(1.0) - kind.q;
  double from = at - 10 * width;
  // Below, 1 - N <= e^{(t - at)/width}, whose mean over a half line is closed.
  const Ball slope = Ball(1.0) / width;
  const auto left = [&](const Ball& mean) {
    return Exp(slope * (mean - at) + slope * slope / 2.0) * NormalTail(mean + slope - from);
  };
  Ball sum = p * left(0.0) + kind.q * left(kind.mu);
  for (; from < to; from += cell) {
    const Ball t = Between(from, std::nextafter(from + cell, kInfinity));
    sum = sum - (Integrand(kind, {}, 1, t) * ExpM1(-Rise(t, at, width)) * cell).Least();
  }
  const Ball right = p * NormalTail(Ball(from)) + kind.q * NormalTail(Ball(from) - kind.mu);
  return (sum + right).Greatest();
}

}  // namespace dpledger::twin
