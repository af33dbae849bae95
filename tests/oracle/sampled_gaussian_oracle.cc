// Writes tests/data/random_epsilon.json: ε of random settings (tests/support/random_setting.h) in
// quadruple precision, 34 digits. It shares nothing with the accountant but the definition of the
// mechanism: no grid, no transform, no certificate.
//
//   ninja -C build/release sampled_gaussian_oracle
//   build/release/bin/sampled_gaussian_oracle --wanted 500 > tests/data/random_epsilon.json
//
// Method. t standard normal, v = t/z - 1/(2 z²), 1 + u = 1 - q + q e^v, A(w) = E[(1 + u)^w], whose
// T-th power is the moment-generating function of the composed loss under Q. For any c > 0
//   δ(ε) = 1/(2πi) ∫ e^{K(s) - sε} / (s (s + 1)) ds over Re s = c,
// K(s) = T log A(s + 1) for remove and T log A(-s) for add (DESIGN: remove asks about P, the
// mixture, against Q). The integral over Im s is by Gauss-Legendre panels, halved until two
// generations agree; A(w) by the trapezoidal rule on a line Im t = η, halved likewise. A setting
// counts as resolved when two different abscissae c, which have no node in common, give the same ε
// to a relative 1e-12; the stated uncertainty is ten times what they differ by. One step is a
// closed form. Where T times one step's δ(0) is at most δ, ε is 0: the total variation of a
// composition is at most the sum.
#include <quadmath.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/random_setting.h"

namespace {

using Real = __float128;
using Complex = __complex128;

constexpr Real kPi = M_PIq;

Complex Make(Real re, Real im) {
  Complex z;
  __real__ z = re;
  __imag__ z = im;
  return z;
}
Real Magnitude(Complex z) { return cabsq(z); }

// What one line may cost; past it the setting counts as not resolved.
struct Budget {
  double nodes;  // evaluations of (1 + u)^w
  bool Spend(double n) { return (nodes -= n) > 0; }
};

class Step {
 public:
  // log(1 + u) and the parts of -t²/2 at a node t of the line Im t = η.
  struct Entry {
    Real log_modulus, angle, half_square, cross;
  };
  class Table;

  Step(Real q, Real z) : q_(q), z_(z) {}

  // A(w), relative error about 1e-22: the trapezoidal rule's error is squared when the step is
  // halved, so two generations that agree to 1e-12 leave the second that good. Nothing when it
  // would not settle. The table's range must cover Re w.
  std::optional<Complex> Moment(Complex w, Table& table, Budget& budget) const;

  // log A(w), its first two derivatives, for real w.
  void LogMoment(Real w, Real& value, Real& first, Real& second) const {
    Real low, high;
    Range(w, low, high);
    // A smooth positive integrand; 1e-15 is enough for choosing c.
    const Real h = fminq(0.25Q, z_ / 3);
    std::vector<Real> logs, losses;
    Real most = -HUGE_VALQ;
    for (Real t = low; t <= high; t += h) {
      const Real loss = log1pq(q_ * expm1q(t / z_ - 0.5Q / (z_ * z_)));
      losses.push_back(loss);
      logs.push_back(w * loss - t * t / 2);
      most = fmaxq(most, logs.back());
    }
    Real m0 = 0, m1 = 0, m2 = 0;
    for (size_t i = 0; i < logs.size(); ++i) {
      const Real p = expq(logs[i] - most);
      m0 += p;
      m1 += p * losses[i];
      m2 += p * losses[i] * losses[i];
    }
    first = m1 / m0;
    second = fmaxq(m2 / m0 - first * first, 1e-300Q);
    value = most + logq(m0 * h / sqrtq(2 * kPi));
  }

  // δ(ε) of one step, in closed form: two normal tails at the point where the loss is ε.
  Real OneDelta(Real epsilon, bool add) const {
    const Real ratio = (expm1q(add ? -epsilon : epsilon) + q_) / q_;
    if (ratio <= 0) return add ? 0 : -expm1q(epsilon);
    const Real t = z_ * logq(ratio) + 0.5Q / z_;  // of a standard normal under Q
    const Real shifted = t - 1 / z_;
    if (add) return Tail(-t) - expq(epsilon) * ((1 - q_) * Tail(-t) + q_ * Tail(-shifted));
    return (1 - q_) * Tail(t) + q_ * Tail(shifted) - expq(epsilon) * Tail(t);
  }

  // The size of the terms of which OneDelta is the difference.
  Real OneTerms(Real epsilon, bool add) const {
    const Real ratio = (expm1q(add ? -epsilon : epsilon) + q_) / q_;
    if (ratio <= 0) return 1;
    const Real t = z_ * logq(ratio) + 0.5Q / z_;
    return add ? 2 * Tail(-t) : 2 * expq(epsilon) * Tail(t) + Tail(t - 1 / z_);
  }

  Real q() const { return q_; }

 private:
  static Real Tail(Real x) { return erfcq(x / sqrtq(2.0Q)) / 2; }

  static constexpr Real kWidest = 0.5Q;  // the trapezoidal rule's first step
  static constexpr double kLowestHeight = 1e-5, kHeightRatio = 1.4;

  // Where (1 + u)^a e^{-t²/2} is above 1e-34, for A(a) >= 1 when a <= 0 or a >= 1 (Jensen).
  void Range(Real a, Real& low, Real& high) const {
    constexpr Real kNothing = 78;  // -log 1e-34
    // 1 + u >= 1 - q, and 1 + u >= q e^v where q is next to 1.
    const Real left = a < 0 ? -a * fminq(-log1pq(-q_), 1e4Q) : 0;
    low = fmaxq(-sqrtq(2 * (kNothing + left)), -13 + fminq(0, a / z_));
    high = 13 + fmaxq(0, a / z_);
    while (high > 13 &&
           a * log1pq(q_ * expm1q(high / z_ - 0.5Q / (z_ * z_))) - high * high / 2 < -kNothing) {
      high -= 0.5Q;
    }
    high += 0.5Q;
  }

  Real HeightAt(int index) const {
    return index == 0 ? 0
                      : (index > 0 ? 1 : -1) * kLowestHeight *
                            powq(kHeightRatio, static_cast<Real>(std::abs(index) - 1));
  }

  static Complex Sum(Complex w, const std::vector<Entry>& entries) {
    const Real a = crealq(w), y = cimagq(w);
    Real re = 0, im = 0, sine, cosine;
    for (const Entry& e : entries) {
      // exp(w log(1+u) - (t + iη)²/2)
      const Real exponent = a * e.log_modulus - y * e.angle - e.half_square;
      if (exponent < -90 && a * e.log_modulus < 10) continue;  // below 1e-39
      const Real size = expq(exponent);
      sincosq(y * e.log_modulus + a * e.angle - e.cross, &sine, &cosine);
      re += size * cosine;
      im += size * sine;
    }
    return Make(re, im);
  }

  // The line Im t = η on which the integrand is least, by a rough search in doubles: on the real
  // line it oscillates where Im w is large.
  int Height(Complex w) const {
    const double a = static_cast<double>(crealq(w)), y = static_cast<double>(cimagq(w));
    const double q = static_cast<double>(q_), z = static_cast<double>(z_);
    if (std::fabs(y) < 1e-3) return 0;
    Real low, high;
    Range(crealq(w), low, high);
    const double stride = std::fmax(0.3, static_cast<double>(high - low) / 200);
    const auto log_size = [&](double eta) {
      const double cosine = std::cos(eta / z), sine = std::sin(eta / z);
      double most = -INFINITY;
      for (double t = static_cast<double>(low); t <= static_cast<double>(high); t += stride) {
        const double grown = q * std::exp(t / z - 0.5 / (z * z));
        const double re = 1 - q + grown * cosine, im = grown * sine;
        most = std::fmax(most, a * 0.5 * std::log(re * re + im * im) -
                                   std::fabs(y) * std::atan2(im, re) - (t * t - eta * eta) / 2);
      }
      return most;
    };
    int best = 0, rising = 0;
    double least = log_size(0);
    for (int i = 1; rising < 4; ++i) {
      const double eta = kLowestHeight * std::pow(kHeightRatio, i - 1);
      if (eta > 0.7 * M_PI * z || eta > 12) break;
      const double size = log_size(eta);
      rising = size > least + 1e-9 ? rising + 1 : 0;
      if (size < least) {
        least = size;
        best = i;
      }
    }
    return y > 0 ? best : -best;
  }

  Real q_, z_;
};

// The nodes of Step's integrals, each made once.
class Step::Table {
 public:
  explicit Table(Real a) : a_(a) {}
  // The nodes that `level` adds to those before it.
  const std::vector<Entry>& At(const Step& step, int eta, int level) {
    std::vector<Entry>& entries = entries_[{eta, level}];
    if (!entries.empty()) return entries;
    Real low, high;
    step.Range(a_, low, high);
    const Real h = kWidest / static_cast<Real>(1 << level), height = step.HeightAt(eta);
    Real sine, cosine;
    sincosq(height / step.z_, &sine, &cosine);
    for (Real t = level == 0 ? low : low + h; t <= high; t += level == 0 ? h : 2 * h) {
      const Real grown = step.q_ * expq(t / step.z_ - 0.5Q / (step.z_ * step.z_));
      const Real re = 1 - step.q_ + grown * cosine, im = grown * sine;
      entries.push_back(
          {logq(re * re + im * im) / 2, atan2q(im, re), (t * t - height * height) / 2, t * height});
    }
    return entries;
  }

 private:
  Real a_;
  std::map<std::pair<int, int>, std::vector<Entry>> entries_;
};

std::optional<Complex> Step::Moment(Complex w, Table& table, Budget& budget) const {
  const int eta = Height(w);
  Complex sum = 0, before = 0;
  for (int level = 0; level < 11; ++level) {
    const std::vector<Entry>& entries = table.At(*this, eta, level);
    if (!budget.Spend(static_cast<double>(entries.size()))) return std::nullopt;
    sum += Sum(w, entries);
    const Complex now = sum * (kWidest / static_cast<Real>(1 << level));
    if (level > 0 && Magnitude(now - before) <= 1e-12Q * Magnitude(now))
      return now / sqrtq(2 * kPi);
    before = now;
  }
  return std::nullopt;
}

// Gauss-Legendre nodes and weights on [-1, 1], by Newton's method.
struct Legendre {
  static constexpr int kOrder = 24;
  Real node[kOrder], weight[kOrder];
  Legendre() {
    for (int i = 0; i < kOrder; ++i) {
      Real x = cosq(kPi * (i + 0.75Q) / (kOrder + 0.5Q)), slope = 0;
      for (int step = 0; step < 100; ++step) {
        Real p0 = 1, p1 = x;
        for (int k = 2; k <= kOrder; ++k) {
          const Real p2 = ((2 * k - 1) * x * p1 - (k - 1) * p0) / k;
          p0 = p1;
          p1 = p2;
        }
        slope = kOrder * (x * p1 - p0) / (x * x - 1);
        const Real change = p1 / slope;
        x -= change;
        if (fabsq(change) < 1e-33Q) break;
      }
      node[i] = x;
      weight[i] = 2 / ((1 - x * x) * slope * slope);
    }
  }
};

// One direction of T steps.
class Question {
 public:
  Question(const Step& step, Real count, bool add, double total)
      : step_(step), count_(count), add_(add), total_(total) {}

  // K(c) - log(c (c+1)) with its first two derivatives.
  void Exponent(Real c, Real& value, Real& first, Real& second) const {
    step_.LogMoment(add_ ? -c : c + 1, value, first, second);
    value = count_ * value - logq(c) - log1pq(c);
    first = count_ * (add_ ? -first : first) - 1 / c - 1 / (c + 1);
    second = count_ * second + 1 / (c * c) + 1 / ((c + 1) * (c + 1));
  }

  // Where K(c) - cε - log(c(c+1)) is least.
  Real Saddle(Real epsilon) const {
    return Root([&](Real c) {
      Real value, first, second;
      Exponent(c, value, first, second);
      return first < epsilon;
    });
  }

  // The saddle-point approximation of ε: a place to start.
  Real Approximate(Real log_delta) const {
    Real value, first, second;
    const Real c = Root([&](Real at) {
      Exponent(at, value, first, second);
      return value - at * first - logq(2 * kPi * second) / 2 > log_delta;
    });
    Exponent(c, value, first, second);
    return first;
  }

  // The line Re s = c, in nodes that carry e^{K(s)}/(s(s+1)) for oscillation e^{-sε} at `epsilon`.
  struct Line {
    Real c, log_scale;
    std::vector<Real> y;
    std::vector<Complex> weighted;  // weight · e^{K - log_scale}/(s(s+1))
  };
  std::optional<Line> Nodes(Real c, Real epsilon, Budget& budget) const {
    static const Legendre rule;
    Real value, first, second;
    Exponent(c, value, first, second);
    Line line{c, value - c * epsilon, {}, {}};
    const Real width = 1 / sqrtq(second);
    // Two generations that agree to 1e-13 leave the second far better than that.
    const Real tolerance = 1e-13Q * width;
    Step::Table table(add_ ? -c : c + 1);
    Real from = 0, length = width;
    for (int panels = 0; panels < 400; ++panels) {
      Panel panel;
      if (!Evaluate(rule, line, epsilon, from, from + length, panel, table, budget))
        return std::nullopt;
      Real size = 0;
      if (!Refine(rule, line, epsilon, from, from + length, panel, tolerance, 0, table, budget,
                  size))
        return std::nullopt;
      from += length;
      if (size * 4 < tolerance && panels > 4) return line;
      length *= 1.5Q;
    }
    return std::nullopt;
  }

  // δ(ε) and -dδ/dε by the line's nodes, over e^{log_scale}.
  static void Integrate(const Line& line, Real at, Real epsilon, Real& delta, Real& slope) {
    delta = slope = 0;
    for (size_t i = 0; i < line.y.size(); ++i) {
      const Complex s = Make(line.c, line.y[i]);
      const Complex term = line.weighted[i] * cexpq(-s * (epsilon - at));
      delta += crealq(term);
      slope += crealq(s * term);
    }
    delta /= kPi;
    slope /= kPi;
  }

  // ε with δ(ε) = δ by the line at c; its nodes are made for ε near `near`. May be below 0.
  std::optional<Real> Solve(Real c, Real near, Real log_delta, Budget budget) const {
    const double most = budget.nodes = std::fmin(budget.nodes, total_);
    const auto line = Nodes(c, near, budget);
    total_ -= most - std::fmax(budget.nodes, 0);
    if (!line.has_value()) return std::nullopt;
    Real epsilon = near;
    for (int i = 0; i < 60; ++i) {
      Real delta, slope;
      Integrate(*line, near, epsilon, delta, slope);
      if (!(delta > 0 && slope > 0)) return std::nullopt;
      const Real change = (logq(delta) + line->log_scale - log_delta) * delta / slope;
      epsilon += change;
      if (fabsq(change) <= 1e-24Q * fabsq(epsilon)) return epsilon;
    }
    return std::nullopt;
  }

  struct Answer {
    Real epsilon, uncertainty;
  };
  std::optional<Answer> Epsilon(Real delta, Budget budget) const {
    const Real log_delta = logq(delta);
    if (count_ * step_.OneDelta(0, add_) <= delta) return Answer{0, 0};
    if (count_ == 1) return OneStep(delta);
    const Real near = fmaxq(Approximate(log_delta), 0);
    const auto rough = Search(near, log_delta, budget);
    if (!rough.has_value()) return std::nullopt;
    const Real c = Saddle(*rough);
    // Left of the saddle the integrand is larger than the integral, by digits that there are to
    // spare, and free of the far tail that a large c brings in.
    std::vector<Real> found;
    for (size_t i = least_share_; i < std::size(kShares); ++i) {
      const auto epsilon = Solve(c * kShares[i], *rough, log_delta, budget);
      if (!epsilon.has_value()) continue;
      for (const Real other : found) {
        const Real difference = fabsq(*epsilon - other);
        if (*epsilon < 0 && other < 0) return Answer{0, 0};
        if (difference <= 1e-12Q * fabsq(other)) return Answer{other, 10 * difference / other};
      }
      found.push_back(*epsilon);
    }
    return std::nullopt;
  }

 private:
  struct Panel {
    Real y[Legendre::kOrder];
    Complex weighted[Legendre::kOrder];
    Complex integral;  // with e^{-i y ε}
  };

  // c in [1e-12, 1e6], below which `small` holds.
  template <typename Small>
  static Real Root(Small small) {
    Real c = 1;
    while (c < 1e6Q && small(c)) c *= 2;
    while (c > 1e-12Q && !small(c)) c /= 2;
    Real low = logq(c), high = low + M_LN2q;
    for (int i = 0; i < 12; ++i) {
      const Real middle = (low + high) / 2;
      (small(expq(middle)) ? low : high) = middle;
    }
    return expq(low);
  }

  bool Evaluate(const Legendre& rule, const Line& line, Real epsilon, Real from, Real to,
                Panel& panel, Step::Table& table, Budget& budget) const {
    panel.integral = 0;
    for (int i = 0; i < Legendre::kOrder; ++i) {
      const Real y = from + (to - from) * (1 + rule.node[i]) / 2;
      const Complex s = Make(line.c, y);
      const auto moment = step_.Moment(add_ ? -s : s + 1, table, budget);
      if (!moment.has_value()) return false;
      const Complex exponent = count_ * clogq(*moment) - s * epsilon - line.log_scale;
      panel.y[i] = y;
      panel.weighted[i] = rule.weight[i] * (to - from) / 2 * cexpq(exponent) / (s * (s + 1));
      panel.integral += panel.weighted[i];
    }
    return true;
  }

  // Accepts a panel's halves where they agree with it, else halves them in turn.
  bool Refine(const Legendre& rule, Line& line, Real epsilon, Real from, Real to,
              const Panel& panel, Real tolerance, int depth, Step::Table& table, Budget& budget,
              Real& size) const {
    const Real middle = (from + to) / 2;
    Panel left, right;
    if (!Evaluate(rule, line, epsilon, from, middle, left, table, budget) ||
        !Evaluate(rule, line, epsilon, middle, to, right, table, budget)) {
      return false;
    }
    if (Magnitude(left.integral + right.integral - panel.integral) <= tolerance) {
      for (const Panel* half : {&left, &right}) {
        for (int i = 0; i < Legendre::kOrder; ++i) {
          line.y.push_back(half->y[i]);
          line.weighted.push_back(half->weighted[i]);
          size += Magnitude(half->weighted[i]);
        }
      }
      return true;
    }
    return depth < 30 &&
           Refine(rule, line, epsilon, from, middle, left, tolerance, depth + 1, table, budget,
                  size) &&
           Refine(rule, line, epsilon, middle, to, right, tolerance, depth + 1, table, budget,
                  size);
  }

  static constexpr Real kShares[] = {1, 0.8Q, 0.62Q, 0.45Q, 0.3Q};

  // A value near which the lines of Epsilon are made, from `near`: within a few of the law's
  // widths.
  std::optional<Real> Search(Real near, Real log_delta, Budget budget) const {
    for (int i = 0; i < 8; ++i) {
      const Real c = Saddle(near);
      std::optional<Real> next;
      for (; least_share_ < std::size(kShares); ++least_share_) {
        next = Solve(c * kShares[least_share_], near, log_delta, budget);
        if (next.has_value()) break;
      }
      if (!next.has_value()) return std::nullopt;
      const bool settled = fabsq(*next - near) <= 1e-3Q * (fabsq(*next) + 1 / c);
      near = *next;
      if (settled) return near;
    }
    return std::nullopt;
  }

  std::optional<Answer> OneStep(Real delta) const {
    Real low = 0, high = add_ ? -log1pq(-step_.q()) : 1;
    if (!add_) {
      while (step_.OneDelta(high, add_) > delta) high *= 2;
    }
    for (int i = 0; i < 200; ++i) {
      const Real middle = (low + high) / 2;
      (step_.OneDelta(middle, add_) > delta ? low : high) = middle;
    }
    // The closed form is a difference of tails; its rounding moves ε by that over the slope.
    const Real h = 1e-9Q * low;
    const Real slope = (step_.OneDelta(low - h, add_) - step_.OneDelta(low + h, add_)) / (2 * h);
    const Real rounding = 1e-32Q * step_.OneTerms(low, add_);
    if (!(slope > 0)) return std::nullopt;
    const Real uncertainty = 10 * rounding / slope / low;
    if (!(uncertainty <= 1e-12Q)) return std::nullopt;
    return Answer{low, uncertainty};
  }

  const Step& step_;
  Real count_;
  bool add_;
  mutable double total_;            // what all lines together may still cost
  mutable size_t least_share_ = 0;  // of kShares: those before it did not do
};

}  // namespace

int main(int argc, char** argv) {
  uint64_t wanted = 500, first = 0, most = ~uint64_t{0};
  double nodes = 4e5;
  for (int i = 1; i + 1 < argc; i += 2) {
    const double value = std::strtod(argv[i + 1], nullptr);
    if (std::strcmp(argv[i], "--wanted") == 0) wanted = static_cast<uint64_t>(value);
    if (std::strcmp(argv[i], "--first") == 0) first = static_cast<uint64_t>(value);
    if (std::strcmp(argv[i], "--most") == 0) most = static_cast<uint64_t>(value);
    if (std::strcmp(argv[i], "--nodes") == 0) nodes = value;
  }
  uint64_t tried = 0, resolved = 0;
  std::printf(
      "{\"description\": \"Written by tests/oracle/sampled_gaussian_oracle.cc; do not edit. "
      "The true value lies within epsilon (1 +- relative_uncertainty); the larger direction.\",\n"
      "\"cases\": [");
  for (uint64_t index = first; resolved < wanted && tried < most; ++index, ++tried) {
    const auto setting = dpledger::testing::RandomSettingAt(index);
    const Step step(setting.sampling_probability, setting.noise_multiplier);
    const Real count = static_cast<Real>(setting.steps);
    const std::clock_t start = std::clock();
    std::optional<Question::Answer> answers[2];
    for (int add = 0; add < 2; ++add) {
      answers[add] = Question(step, count, add == 1, 8 * nodes).Epsilon(setting.delta, {nodes});
      if (!answers[add].has_value()) break;
    }
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const bool good = answers[0].has_value() && answers[1].has_value();
    std::fprintf(stderr, "%llu q=%.4g z=%.4g T=%llu delta=%.3g %s %.1fs remove %.10g add %.10g\n",
                 static_cast<unsigned long long>(index), setting.sampling_probability,
                 setting.noise_multiplier, static_cast<unsigned long long>(setting.steps),
                 setting.delta, good ? "ok" : "NOT RESOLVED", seconds,
                 answers[0] ? static_cast<double>(answers[0]->epsilon) : NAN,
                 answers[1] ? static_cast<double>(answers[1]->epsilon) : NAN);
    if (!good) continue;
    const auto& larger = answers[0]->epsilon >= answers[1]->epsilon ? *answers[0] : *answers[1];
    std::printf(
        "%s\n{\"index\":%llu,\"q\":%.17g,\"noise_multiplier\":%.17g,\"steps\":%llu,"
        "\"delta\":%.17g,\"epsilon\":%.17g,\"relative_uncertainty\":%.2g}",
        resolved == 0 ? "" : ",", static_cast<unsigned long long>(index),
        setting.sampling_probability, setting.noise_multiplier,
        static_cast<unsigned long long>(setting.steps), setting.delta,
        static_cast<double>(larger.epsilon), static_cast<double>(larger.uncertainty) + 1.2e-16);
    std::fflush(stdout);
    ++resolved;
  }
  std::printf("\n],\n\"tried\": %llu, \"resolved\": %llu}\n",
              static_cast<unsigned long long>(tried), static_cast<unsigned long long>(resolved));
}
