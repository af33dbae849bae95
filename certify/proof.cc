#include "certify/proof.h"

#include <algorithm>
#include <cmath>

namespace dpledger::certify {
namespace {

constexpr double kMostOutcomes = 200000;
constexpr slong kEndDigits = 40;  // and one for each doubling of runs

Ball NotProved() { return HUGE_VAL; }

// δ of one law, run once: the mean of (1 - e^{ε - L})_+.
Ball PairDelta(const LossLaw& law, const Ball& epsilon) {
  Ball delta = law.infinite;
  for (const Atom& atom : law.atoms)
    delta = delta + atom.mass * Max(-ExpM1(epsilon - atom.loss), 0.0);
  for (const Density& d : law.densities) {
    // Losses rise: those above ε begin at `from`.
    const Ball from = Min(Max((epsilon - d.l) / d.r, 0.0), d.length);
    const auto integral = [&](const Ball& a, const Ball& b) {
      const Ball x = b * (d.length - from) / 2.0;
      return Exp(a + b * from + x) * (d.length - from) * Sinc(Complex(0.0, x)).Re();
    };
    delta = delta + integral(d.a, d.b) - integral(d.a + epsilon - d.l, d.b - d.r);
  }
  return delta;
}

struct Outcome {
  Ball log_mass, loss;
};
// Adds to `all` what `left` runs of atoms i, i + 1, ... make of `so_far`: how often each came.
void AddOutcomes(const std::vector<Atom>& atoms, size_t i, double left, const Outcome& so_far,
                 std::vector<Outcome>& all) {
  const Ball log_mass = Log(atoms[i].mass);
  const auto having = [&](double k, const Ball& log_ways) {
    return Outcome{so_far.log_mass + log_ways + log_mass * k, so_far.loss + atoms[i].loss * k};
  };
  if (i + 1 == atoms.size()) {
    all.push_back(having(left, 0.0));
    return;
  }
  Ball log_ways = 0.0;  // log of C(left, k)
  for (double k = 0; k <= left; ++k) {
    if (k > 0) log_ways = log_ways + Log((Ball(left) - k + 1.0) / k);
    AddOutcomes(atoms, i + 1, left - k, having(k, log_ways), all);
  }
}
Ball OutcomesDelta(const Composition& of, Direction direction, const Ball& epsilon) {
  std::vector<Outcome> all = {{0.0, 0.0}};
  for (const Pair& pair : of.pairs) {
    const LossLaw& law = pair.law(direction);
    double ways = static_cast<double>(all.size());  // times C(count + atoms - 1, atoms - 1)
    for (double i = 1; i < static_cast<double>(law.atoms.size()); ++i) ways *= (pair.count + i) / i;
    if (!law.densities.empty() || !(ways <= kMostOutcomes)) return NotProved();
    std::vector<Outcome> next;
    for (const Outcome& outcome : all)
      if (!law.atoms.empty()) AddOutcomes(law.atoms, 0, pair.count, outcome, next);
    all = std::move(next);
  }
  Ball delta = InfiniteMass(of, direction);
  for (const Outcome& outcome : all)
    delta = delta + Exp(outcome.log_mass) * Max(-ExpM1(epsilon - outcome.loss), 0.0);
  return delta;
}

Ball GaussianDelta(const Ball& mu, const Ball& epsilon) {
  return NormalTail(epsilon / mu - mu / 2.0) - Exp(epsilon) * NormalTail(epsilon / mu + mu / 2.0);
}

// P and Q differ by e^ε at one place t: there 1 + u(t) is e^ε, or e^{-ε}.
Ball SampledOnceDelta(const SampledGaussian& step, Direction direction, const Ball& epsilon) {
  const bool add = direction == Direction::kAdd;
  const Ball rest = ExpM1(add ? -epsilon : epsilon) + step.q;
  if (!CertainlyPositive(rest)) return NotProved();
  const Ball t = (Log(rest / step.q) + step.mu * step.mu / 2.0) / step.mu;
  if (!add) return step.q * NormalTail(t - step.mu) - rest * NormalTail(t);
  return Exp(epsilon) * (rest * NormalTail(-t) - step.q * NormalTail(step.mu - t));
}

}  // namespace

Ball Cumulant(const Pair& pair, Direction direction, const Ball& r) {
  const LossLaw& law = pair.law(direction);
  return Log(NodesOf(law, r).Total() + DensityMoment(law, Complex(r)).Re());
}

Ball Cumulant(const Curve& curve, const Ball& r) {
  const Ball alpha = r + 1.0;
  if (curve.orders.empty()) return r * (curve.xi + curve.rho * alpha);
  // Divergences rise with the order: that of the next stated order holds.
  for (size_t i = 0; i < curve.orders.size(); ++i)
    if (CertainlyAtMost(alpha, curve.orders[i])) return r * curve.epsilons[i];
  return NotProved();
}

Ball LogChernoff(const Composition& of, Direction direction, const Ball& epsilon,
                 const Order& order) {
  const Ball r = order.r;
  if (!CertainlyPositive(r) || order.rules.size() != of.sampled.size()) return NotProved();
  Ball k = of.variance * r * (r + 1.0) / 2.0;
  for (size_t i = 0; i < of.sampled.size(); ++i) {
    const SampledGaussian& step = of.sampled[i];
    k = k + step.count * Log(NodesOf(step, direction, r, order.rules[i]).Total());
  }
  for (const Pair& pair : of.pairs) k = k + pair.count * Cumulant(pair, direction, r);
  for (const Curve& curve : of.curves) k = k + curve.count * Cumulant(curve, r);
  return k - r * epsilon + r * Log(r) - (r + 1.0) * Log1P(r);
}

void LineSum::Ratio::Multiply(const Complex& moment, const Ball& log_zero, double count) {
  lost = lost || moment.MayBeZero();
  const Complex log_moment =
      moment.MayBeZero() ? Complex(Log(Modulus(moment).Greatest())) : Log(moment);
  log = log + Complex(count) * (log_moment - Complex(log_zero));
}

LineSum::LineSum(const Composition& of, Direction direction, const Line& line)
    : of_(of),
      direction_(direction),
      line_(line),
      c_(line.tilt),
      h_(Ball(2.0) * Pi() / line.period),
      smoothing_(line.smoothing),
      variance_(of.variance + smoothing_) {
  const size_t kinds = of.sampled.size();
  good_ = CertainlyPositive(c_) && CertainlyPositive(h_) && CertainlyAtMost(0.0, smoothing_) &&
          line.last >= 1 && of.curves.empty() && line.rules.size() == kinds &&
          line.moved.size() == kinds;
  if (!good_) return;
  level_ = variance_ * c_ * (c_ + 1.0) / 2.0;
  log_end_ = -(variance_ * Y(line.last) * Y(line.last) / 2.0);
  std::vector<Ratio> ratios(line.last + 1);
  for (size_t i = 0; i < kinds; ++i) TakeSampled(i, ratios);
  for (const Pair& pair : of.pairs) {
    const LossLaw& law = pair.law(direction);
    std::vector<Complex> moments = AlongLine(NodesOf(law, c_), h_, line.last);
    for (long j = 0; j <= line.last && !law.densities.empty(); ++j)
      moments[j] = moments[j] + DensityMoment(law, Complex(c_, Y(j)));
    Multiply(moments, pair.count, ratios);
  }
  for (long j = 0; j <= line.last; ++j) {
    const Ball y = Y(j);
    ratios[j].log = ratios[j].log + Complex(-(variance_ * y * y / 2.0), variance_ * y * (c_ + 0.5));
    terms_.push_back(Complex(j == 0 ? 0.5 : 1.0) * ratios[j].Value());
    const Complex z(c_, y);
    kernels_.push_back(terms_.back() / (z * (z + Complex(1.0))));
  }
  infinite_ = InfiniteMass(of, direction);
  above_ = AtZero(line.above), below_ = AtZero(line.below);
}

Bounds LineSum::At(const Ball& epsilon) const {
  if (!good_) return {};
  // The kernel 1/(z(z+1)), and what the smoothed one is above the true one at most.
  const Ball excess = smoothing_ * Exp(smoothing_ / 8.0);
  Ball upper = 0.0, taken = 0.0;
  for (long j = 0; j <= line_.last; ++j) {
    const Complex turn = Exp(Complex(0.0, -(Y(j) * epsilon)));
    upper = upper + (kernels_[j] * turn).Re();
    taken = taken + excess * (terms_[j] * turn).Re();
  }
  const Ball end = Exp(log_end_) / (Pi() * Y(line_.last)), over_pi = h_ / Pi();
  const Ball above = (upper * over_pi).Widened(end);
  const Ball below = ((upper - taken) * over_pi).Widened(end * (Exp(smoothing_ / 8.0) + 1.0));
  const Ball log_scale = level_ - c_ * epsilon, scale = Exp(log_scale);
  if (!above.IsFinite() || !scale.IsFinite()) return {};
  const Ball lower = (below - Aliases(epsilon, log_scale)).Least() * scale;
  return {(lower.IsFinite() ? Max(lower, 0.0) : Ball(0.0)) + infinite_,
          above.Greatest() * scale + infinite_};
}

Ball LineSum::Multiply(const std::vector<Complex>& moments, double count,
                       std::vector<Ratio>& ratios) {
  const Ball log_zero = Log(moments[0].Re());
  for (long j = 0; j <= line_.last; ++j) ratios[j].Multiply(moments[j], log_zero, count);
  level_ = level_ + count * log_zero;
  return log_zero;
}

void LineSum::TakeSampled(size_t i, std::vector<Ratio>& ratios) {
  const SampledGaussian& step = of_.sampled[i];
  const Nodes nodes = NodesOf(step, direction_, c_, line_.rules[i]);
  const Ball log_zero = Multiply(AlongLine(nodes, h_, line_.last), step.count, ratios);
  if (line_.moved[i].height == 0) return;  // |M(c + iy)| <= M(c)
  const slong digits = kEndDigits + static_cast<slong>(std::log2(step.count));
  const Ball log_past = LogModulus(step, direction_, c_, Y(line_.last), line_.moved[i], digits);
  log_end_ = log_end_ + step.count * Min(log_past - log_zero, 0.0);
}

Ball LineSum::AtZero(const Order& order) const {
  return order.r == 0 ? Ball(0.0) : LogChernoff(of_, direction_, 0.0, order);
}

Ball LineSum::Aliases(const Ball& epsilon, const Ball& log_scale) const {
  const auto side = [&](const Ball& at_zero, double r, const Ball& away) {
    return CertainlyPositive(away)
               ? Exp(at_zero - epsilon * r - log_scale) / ExpM1(away * line_.period)
               : NotProved();
  };
  return side(above_, line_.above.r, Ball(line_.above.r) - c_) +
         side(below_, line_.below.r, c_ - line_.below.r);
}

Ball ClosedDelta(const Composition& of, Direction direction, const Ball& epsilon) {
  const bool gaussian = CertainlyPositive(of.variance);
  if (!of.curves.empty() || (gaussian && !(of.sampled.empty() && of.pairs.empty())))
    return NotProved();
  if (gaussian) return GaussianDelta(Sqrt(of.variance), epsilon);
  if (of.sampled.empty()) {
    const bool once = of.pairs.size() == 1 && of.pairs[0].count == 1;
    return once ? PairDelta(of.pairs[0].law(direction), epsilon)
                : OutcomesDelta(of, direction, epsilon);
  }
  const SampledGaussian& step = of.sampled[0];
  const bool once = of.pairs.empty() && of.sampled.size() == 1 && step.count == 1 &&
                    step.against == SampledGaussian::Against::kNothing;
  return once ? SampledOnceDelta(step, direction, epsilon) : NotProved();
}

Ball InfiniteMass(const Composition& of, Direction direction) {
  Ball mass = 0.0;
  for (const Pair& pair : of.pairs) {
    const Ball& one = pair.law(direction).infinite;
    if (CertainlyAtMost(1.0, one)) return 1.0;
    // A single run's mass stays the number that it is.
    const Ball all = pair.count == 1 ? one : -ExpM1(pair.count * Log1P(-one));
    mass = mass + all - mass * all;
  }
  return mass;
}

Ball GreatestLoss(const Composition& of, Direction direction) {
  Ball sum = CertainlyPositive(of.variance) ? NotProved() : Ball(0.0);
  for (const SampledGaussian& step : of.sampled) {
    const bool bounded =
        direction == Direction::kAdd && step.against == SampledGaussian::Against::kNothing;
    sum = sum + (bounded ? -(step.count * Log1P(-step.q)) : NotProved());
  }
  for (const Pair& pair : of.pairs) {
    Ball greatest = -HUGE_VAL;
    const LossLaw& law = pair.law(direction);
    for (const Atom& atom : law.atoms) greatest = Max(greatest, atom.loss);
    // Densities that have atoms beside them end there.
    for (const Density& one : law.densities) {
      if (law.atoms.empty()) greatest = Max(greatest, Max(one.l, one.l + one.r * one.length));
    }
    sum = sum + pair.count * greatest;
  }
  for (const Curve& curve : of.curves) {
    const bool bounded = curve.orders.empty() && CertainlyAtMost(curve.rho, 0.0);
    sum = sum + (bounded ? curve.count * curve.xi : NotProved());
  }
  return sum;
}

}  // namespace dpledger::certify
