#include "certify/proof.h"

#include <algorithm>
#include <cmath>

namespace dpledger::certify {
namespace {

constexpr double kMostOutcomes = 200000;
constexpr slong kEndDigits = 40;  // and one for each doubling of runs

Ball NotProved() { return HUGE_VAL; }

// What E[e^{zL}; L finite] of all steps is at one node of the line, over its value at y = 0.
struct Ratio {
  Complex log;
  bool lost = false;  // its phase: some factor may be 0

  void Multiply(const Complex& moment, const Ball& log_zero, double count) {
    lost = lost || moment.MayBeZero();
    const Complex log_moment =
        moment.MayBeZero() ? Complex(Log(Modulus(moment).Greatest())) : Log(moment);
    log = log + Complex(count) * (log_moment - Complex(log_zero));
  }
  Complex Value() const { return lost ? Complex().Widened(Exp(log.Re())) : Exp(log); }
};

// Σ over m >= 1 of e^{mcD} times Chernoff's bound at ε + mD, and the same for m <= -1, all over
// e^{log_scale}.
Ball Aliases(const Composition& of, Direction direction, const Ball& epsilon, const Line& line,
             const Ball& log_scale) {
  const auto side = [&](const Order& order, const Ball& away) {
    const Ball log_delta = order.r == 0 ? Ball(0.0) : LogChernoff(of, direction, epsilon, order);
    return CertainlyPositive(away) ? Exp(log_delta - log_scale) / ExpM1(away * line.period)
                                   : NotProved();
  };
  const Ball c = line.tilt;
  return side(line.above, Ball(line.above.r) - c) + side(line.below, c - line.below.r);
}

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

Bounds OnLine(const Composition& of, Direction direction, const Ball& epsilon, const Line& line) {
  const Ball c = line.tilt, h = Ball(2.0) * Pi() / line.period;
  const Ball y_end = h * static_cast<double>(line.last);
  const Ball smoothing = line.smoothing, variance = of.variance + smoothing;
  const size_t kinds = of.sampled.size();
  if (!CertainlyPositive(c) || !CertainlyPositive(h) || !CertainlyAtMost(0.0, smoothing) ||
      line.last < 1 || !of.curves.empty() || line.rules.size() != kinds ||
      line.moved.size() != kinds) {
    return {};
  }
  // K(c); the ratio along the line; the logarithm of a bound on it past the end, where pairs count
  // as 1.
  Ball level = variance * c * (c + 1.0) / 2.0, log_end = -(variance * y_end * y_end / 2.0);
  std::vector<Ratio> ratios(line.last + 1);
  const auto multiply = [&](const std::vector<Complex>& moments, double count) {
    const Ball log_zero = Log(moments[0].Re());
    for (long j = 0; j <= line.last; ++j) ratios[j].Multiply(moments[j], log_zero, count);
    level = level + count * log_zero;
    return log_zero;
  };
  for (size_t i = 0; i < kinds; ++i) {
    const SampledGaussian& step = of.sampled[i];
    const Nodes nodes = NodesOf(step, direction, c, line.rules[i]);
    const Ball log_zero = multiply(AlongLine(nodes, h, line.last), step.count);
    if (line.moved[i].height == 0) continue;  // |M(c + iy)| <= M(c)
    const slong digits = kEndDigits + static_cast<slong>(std::log2(step.count));
    const Ball log_past = LogModulus(step, direction, c, y_end, line.moved[i], digits);
    log_end = log_end + step.count * Min(log_past - log_zero, 0.0);
  }
  for (const Pair& pair : of.pairs) {
    const LossLaw& law = pair.law(direction);
    std::vector<Complex> moments = AlongLine(NodesOf(law, c), h, line.last);
    for (long j = 0; j <= line.last && !law.densities.empty(); ++j)
      moments[j] = moments[j] + DensityMoment(law, Complex(c, h * static_cast<double>(j)));
    multiply(moments, pair.count);
  }
  // The kernel 1/(z(z+1)), and what the smoothed one is above the true one at most.
  const Ball excess = smoothing * Exp(smoothing / 8.0);
  Ball upper = 0.0, taken = 0.0;
  for (long j = 0; j <= line.last; ++j) {
    const Ball y = h * static_cast<double>(j), share = j == 0 ? 0.5 : 1.0;
    const Complex z(c, y);
    ratios[j].log =
        ratios[j].log + Complex(-(variance * y * y / 2.0), variance * y * (c + 0.5) - y * epsilon);
    const Complex value = ratios[j].Value();
    upper = upper + share * (value / (z * (z + Complex(1.0)))).Re();
    taken = taken + share * excess * value.Re();
  }
  const Ball end = Exp(log_end) / (Pi() * y_end), over_pi = h / Pi();
  const Ball above = (upper * over_pi).Widened(end);
  const Ball below = ((upper - taken) * over_pi).Widened(end * (Exp(smoothing / 8.0) + 1.0));
  const Ball log_scale = level - c * epsilon, infinite = InfiniteMass(of, direction);
  const Ball aliases = Aliases(of, direction, epsilon, line, log_scale), scale = Exp(log_scale);
  if (!above.IsFinite() || !scale.IsFinite()) return {};
  const Ball lower = (below - aliases).Least() * scale;
  return {(lower.IsFinite() ? Max(lower, 0.0) : Ball(0.0)) + infinite,
          above.Greatest() * scale + infinite};
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
