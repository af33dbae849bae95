#include "certify/transform.h"

#include <acb_calc.h>
#include <acb_mat.h>

#include <algorithm>
#include <cmath>

namespace dpledger::certify {
namespace {

constexpr double kMostNodes = 100000;
constexpr long kColumns = 256;  // of a matrix at a time, for memory's sake
constexpr slong kSpareBits = 48;

// M(z) = ∫ φ(t) (1+u(t))^a (1+u(-t))^b dt with 1+u(t) = 1-q + q e^{μt - μ²/2}; the loss is ± the
// logarithm of (1+u(t))/(1+u(-t)). Without an opposite, b = 0 and the loss is ±log(1+u(t)).
struct Integrand {
  const SampledGaussian& step;
  bool opposed;
  double sign;
  Ball a, b;
  // Of Modulus() alone.
  Ball y = 0.0, height = 0.0;

  Integrand(const SampledGaussian& of, Direction direction, const Ball& c)
      : step(of), opposed(of.against == SampledGaussian::Against::kOpposite) {
    // The opposed pair is its own mirror image.
    const bool add = direction == Direction::kAdd && !opposed;
    sign = add ? -1 : 1;
    a = add ? -c : c + 1.0;
    b = opposed ? -c : Ball(0.0);
  }
  // log(1+u); of an `order` of derivatives, no number where it has none (acb_calc).
  Complex LogRatio(const Complex& t, slong order = 0) const {
    Complex power = Complex(step.mu) * t - Complex(step.mu * step.mu / 2.0), result;
    acb_expm1(power.get(), power.get(), bits);
    const Complex ratio = Complex(step.q) * power;
    if (order == 0) return Log1P(ratio);
    acb_log_analytic(result.get(), (ratio + Complex(1.0)).get(), 1, bits);
    return result;
  }
  Complex Loss(const Complex& t) const {
    return opposed ? LogRatio(t) - LogRatio(-t) : Complex(sign) * LogRatio(t);
  }
  Complex LogSize(const Complex& t) const {
    const Complex sum = Complex(a) * LogRatio(t) - t * t / Complex(2.0);
    const Complex all = opposed ? sum + Complex(b) * LogRatio(-t) : sum;
    return all - Complex(Log(Ball(2.0) * Pi()) / 2.0);
  }
  // The slope of log(1+u) over μ, in [0, 1]; it rises with t.
  Ball Share(const Ball& t) const {
    const Ball e = step.q * Exp(step.mu * t - step.mu * step.mu / 2.0);
    return e / (Ball(1.0) - step.q + e);
  }
  // By how much LogSize falls at least, per unit of t, from `t` on outwards.
  Ball FallRight(const Ball& t) const {
    return t - Max(a, 0.0) * step.mu + b * step.mu * Share(-t);
  }
  Ball FallLeft(const Ball& t) const { return -t + Min(a, 0.0) * step.mu * Share(t); }
  // log of what moving t by `by` off the real line may make of the modulus: e^{by²/2} of φ, and
  // where a power is negative cos(μ·by/2) to it.
  Ball LogMoved(const Ball& by) const {
    if (!CertainlyLess(step.mu * by, Pi())) return HUGE_VAL;
    return by * by / 2.0 + (Min(a, 0.0) + b) * Log(Cos(step.mu * by / 2.0));
  }
  // |f(t + i·height)| e^{-y·angle} as an analytic function of t, without e^{height²/2}/√(2π).
  Complex Modulus(const Complex& t, slong order) const {
    const Complex up(0.0, height), above = t + up, below = t - up;
    const Complex la = LogRatio(above, order), lb = LogRatio(below, order);
    Complex log_size = Complex(a) * (la + lb) - t * t, difference = la - lb;
    if (opposed) {
      const Complex oa = LogRatio(-above, order), ob = LogRatio(-below, order);
      log_size = log_size + Complex(b) * (oa + ob);
      difference = difference - (oa - ob);
    }
    return Exp((log_size + Complex(0.0, y) * difference) / Complex(2.0));
  }
};

int CallModulus(acb_ptr out, const acb_t t, void* param, slong order, slong precision) {
  const Bits here(precision);
  acb_set(out, static_cast<const Integrand*>(param)->Modulus(Complex(t), order).get());
  return 0;
}

}  // namespace

Ball Nodes::Total() const {
  Complex sum;
  for (const Complex& w : weight) sum = sum + w;
  return sum.Re().Widened(error);
}

Nodes NodesOf(const SampledGaussian& step, Direction direction, const Ball& c, const Strip& strip) {
  Nodes nodes;
  nodes.error = HUGE_VAL;
  const double first = std::floor(strip.from / strip.step);
  const double last = std::ceil(strip.to / strip.step);
  if (!(strip.step > 0 && strip.height > 0 && last > first && last - first < kMostNodes))
    return nodes;
  const Integrand f(step, direction, c);
  const Ball h = strip.step, height = strip.height;
  Complex sum;
  for (double k = first; k <= last; ++k) {
    const Complex t(h * k, height * f.sign);
    nodes.loss.push_back(f.Loss(t));
    nodes.weight.push_back(Complex(h) * Exp(f.LogSize(t)));
    sum = sum + nodes.weight.back();
  }
  // Past both ends each term's bound is at most e^{-fall · h} of the one before.
  const auto past = [&](double k, const Ball& fall) {
    return CertainlyPositive(fall) ? h * Exp(f.LogSize(h * k).Re()) / ExpM1(fall * h)
                                   : Ball(HUGE_VAL);
  };
  const Ball ends = Exp(f.LogMoved(height)) *
                    (past(first, f.FallLeft(h * first)) + past(last, f.FallRight(h * last)));
  // The sum over all nodes is within share · M(c): the lines Im t = 0 and 2·height.
  const Ball share = (Exp(f.LogMoved(height * 2.0)) + 1.0) / ExpM1(Ball(2.0) * Pi() * height / h);
  if (!CertainlyLess(share, 0.5)) return nodes;
  nodes.error = ends + share * (certify::Modulus(sum) + ends) / (Ball(1.0) - share);
  return nodes;
}

Nodes NodesOf(const LossLaw& law, const Ball& c) {
  Nodes nodes;
  for (const Atom& atom : law.atoms) {
    nodes.loss.push_back(atom.loss);
    nodes.weight.push_back(Complex(atom.mass * Exp(c * atom.loss)));
  }
  return nodes;
}

Complex DensityMoment(const LossLaw& law, const Complex& z) {
  Complex sum;
  for (const Density& d : law.densities) {
    // ∫ e^{a + zl + (b + zr)s} ds = e^{a + zl + x} · length · sinh(x)/x, x = (b + zr) length/2.
    const Complex x = (Complex(d.b) + z * Complex(d.r)) * Complex(d.length / 2.0);
    const Complex size = Exp(Complex(d.a) + z * Complex(d.l) + x) * Complex(d.length);
    sum = sum + size * Sinc(Complex(0.0, 1.0) * x);
  }
  return sum;
}

std::vector<Complex> AlongLine(const Nodes& nodes, const Ball& h, long last) {
  // With j = side · r + s, e^{ihjl} = e^{ih·side·r·l} e^{ihsl}: a product of two matrices.
  const long side = static_cast<long>(std::ceil(std::sqrt(static_cast<double>(last) + 1)));
  const long n = static_cast<long>(nodes.loss.size());
  acb_mat_t left, right, product, sum;
  acb_mat_init(product, side, side), acb_mat_init(sum, side, side);
  for (long first = 0; first < n; first += kColumns) {
    const long columns = std::min(kColumns, n - first);
    acb_mat_init(left, side, columns), acb_mat_init(right, columns, side);
    for (long k = 0; k < columns; ++k) {
      const Complex turn = Complex(0.0, h) * nodes.loss[first + k];
      for (long r = 0; r < side; ++r) {
        const Complex fine = turn * Complex(static_cast<double>(r));
        const Complex coarse = Exp(fine * Complex(static_cast<double>(side)));
        acb_set(acb_mat_entry(right, k, r), Exp(fine).get());
        acb_mul(acb_mat_entry(left, r, k), coarse.get(), nodes.weight[first + k].get(), bits);
      }
    }
    acb_mat_mul(product, left, right, bits);
    acb_mat_add(sum, sum, product, bits);
    acb_mat_clear(left), acb_mat_clear(right);
  }
  std::vector<Complex> result;
  for (long j = 0; j <= last; ++j)
    result.push_back(Complex(acb_mat_entry(sum, j / side, j % side)).Widened(nodes.error));
  acb_mat_clear(product), acb_mat_clear(sum);
  return result;
}

Ball LogModulus(const SampledGaussian& step, Direction direction, const Ball& c,
                const Ball& least_y, const Strip& strip, slong digits) {
  Integrand f(step, direction, c);
  f.y = least_y, f.height = strip.height;
  const Ball from = strip.from, to = strip.to, moved = f.LogMoved(f.height);
  const Ball left = f.FallLeft(from), right = f.FallRight(to);
  const bool good = CertainlyLess(from, to) && CertainlyPositive(left) &&
                    CertainlyPositive(right) && CertainlyPositive(f.height) && moved.IsFinite();
  if (!good) return HUGE_VAL;
  Complex inside;
  mag_t no_tolerance;
  mag_init(no_tolerance);
  acb_calc_integrate(inside.get(), CallModulus, &f, Complex(from).get(), Complex(to).get(), digits,
                     no_tolerance, nullptr, digits + kSpareBits);
  mag_clear(no_tolerance);
  const Ball middle = inside.Re() * Exp(f.height * f.height / 2.0) / Sqrt(Ball(2.0) * Pi());
  const Ball ends = Exp(f.LogSize(from).Re()) / left + Exp(f.LogSize(to).Re()) / right;
  const Ball bound = (middle + ends * Exp(moved)).Greatest();
  return CertainlyPositive(bound) ? Log(bound) : Ball(HUGE_VAL);
}

}  // namespace dpledger::certify
