#include "certify/laws.h"

#include <cmath>

namespace dpledger::certify {
namespace {

// Adds an outcome of probability `p` under P and `q` under Q, with log(p/q) where it is known
// better than as that.
void AddOutcome(Pair& pair, const Ball& p, const Ball& q, const Ball& loss) {
  const auto add = [](LossLaw& law, const Ball& mass, const Ball& other, const Ball& log_ratio) {
    if (CertainlyAtMost(mass, 0.0)) return;
    if (CertainlyAtMost(other, 0.0)) {
      law.infinite = law.infinite + mass;
    } else {
      law.atoms.push_back({mass, log_ratio});
    }
  };
  add(pair.remove, p, q, loss);
  add(pair.add, q, p, -loss);
}
void AddOutcome(Pair& pair, const Ball& p, const Ball& q) { AddOutcome(pair, p, q, Log(p / q)); }

}  // namespace

Pair LaplacePair(const Ball& distance) {
  Pair pair;
  AddOutcome(pair, 0.5, Exp(-distance) / 2.0, distance);
  AddOutcome(pair, Exp(-distance) / 2.0, 0.5, -distance);
  // Between the two values, at t from the second: e^{-(distance - t)}/2 under P, e^{-t}/2 under Q.
  const Ball half = Log(Ball(0.5));
  pair.remove.densities.push_back({half - distance, 1.0, distance, -distance, 2.0});
  pair.add.densities.push_back({half - distance, 1.0, distance, -distance, 2.0});
  return pair;
}

Pair DiscreteLaplacePair(double a, uint64_t distance) {
  Pair pair;
  const Ball r = Exp(-Ball(a)), all = r + 1.0;
  const auto power = [&](uint64_t k) { return Exp(-(Ball(a) * static_cast<double>(k))); };
  // Values 0 and `distance`: what is at most 0, at least `distance`, and each place between.
  const Ball greatest = Ball(a) * static_cast<double>(distance);
  AddOutcome(pair, Ball(1.0) / all, power(distance) / all, greatest);
  AddOutcome(pair, power(distance) / all, Ball(1.0) / all, -greatest);
  for (uint64_t k = 1; k < distance; ++k) {
    const Ball rest = (Ball(1.0) - r) / all;
    const double nearer = static_cast<double>(distance) - 2.0 * static_cast<double>(k);
    AddOutcome(pair, rest * power(k), rest * power(distance - k), Ball(a) * nearer);
  }
  return pair;
}

Enclosed DiscreteGaussianPair(double sigma, uint64_t distance) {
  const double d = static_cast<double>(distance), last = std::ceil(16 * sigma) + d;
  const Ball square = Ball(sigma) * sigma * 2.0;
  const auto weight = [&](double k) { return Exp(-(Ball(k) * k / square)); };
  Ball all = 1.0;
  for (double k = 1; k <= last; ++k) all = all + weight(k) * 2.0;
  const Ball past = weight(last + 1) / -ExpM1(-(Ball(2 * last + 3) / square));
  all = all + past + Ball(0.0).Widened(past);
  Enclosed both;
  Ball p_left = 1.0, q_left = 1.0;
  for (double k = d - last; k <= last; ++k) {
    const Ball p = weight(k) / all, q = weight(k - d) / all;
    AddOutcome(both.above, p, q, Ball(d) * (d - 2 * k) / square);
    p_left = p_left - p, q_left = q_left - q;
  }
  both.below = both.above;
  both.above.remove.infinite = p_left, both.above.add.infinite = q_left;
  return both;
}

Pair RandomizedResponsePair(double noise, uint64_t buckets) {
  Pair pair;
  const double n = static_cast<double>(buckets);
  const Ball other = Ball(noise) / n, own = Ball(1.0) - noise + other;
  AddOutcome(pair, own, other);
  AddOutcome(pair, other, own);
  const Ball rest = other * (n - 2);
  AddOutcome(pair, rest, rest, 0.0);
  return pair;
}

Pair RandomizedResponseAgainstUniform(double noise, uint64_t buckets) {
  Pair pair;
  const double n = static_cast<double>(buckets);
  const Ball other = Ball(noise) / n, own = Ball(1.0) - noise + other;
  AddOutcome(pair, own, Ball(1.0) / n);
  AddOutcome(pair, other * (n - 1), Ball(n - 1) / n);
  return pair;
}

Pair EpsilonDeltaPair(const Ball& epsilon, const Ball& delta) {
  Pair pair;
  const Ball rest = Ball(1.0) - delta, e = Exp(-epsilon);
  AddOutcome(pair, delta, 0.0);
  AddOutcome(pair, 0.0, delta);
  AddOutcome(pair, rest / (e + 1.0), rest * e / (e + 1.0), epsilon);
  AddOutcome(pair, rest * e / (e + 1.0), rest / (e + 1.0), -epsilon);
  return pair;
}

Pair BoundedRangePair(const Ball& epsilon) {
  // At the loss t: e^{t/2}/(4 sinh(ε/2)) under P, for -ε < t < ε; from either side the same.
  const Ball half = epsilon / 2.0;
  const Ball total = Ball(2.0) * (Exp(half) - Exp(-half));
  Pair pair;
  pair.remove.densities.push_back({-half - Log(total), 0.5, epsilon * 2.0, -epsilon, 1.0});
  pair.add = pair.remove;
  return pair;
}

Pair Everything() {
  Pair pair;
  AddOutcome(pair, 1.0, 0.0);
  AddOutcome(pair, 0.0, 1.0);
  return pair;
}

Pair Spread(const Cells& cells) {
  std::vector<Ball> at(cells.ratios.size(), 0.0);
  at[0] = cells.before / cells.ratios[0];
  for (size_t i = 0; i < cells.masses.size(); ++i) {
    const Ball upper = cells.excesses[i] / (cells.ratios[i + 1] - cells.ratios[i]);
    at[i] = at[i] + cells.masses[i] - upper;
    at[i + 1] = at[i + 1] + upper;
  }
  Pair pair;
  Ball p_left = 1.0, q_left = 1.0;
  for (size_t i = 0; i < at.size(); ++i) {
    const Ball p = at[i] * cells.ratios[i];
    AddOutcome(pair, p, at[i], Log(cells.ratios[i]));
    p_left = p_left - p, q_left = q_left - at[i];
  }
  pair.remove.infinite = p_left, pair.add.infinite = q_left;
  return pair;
}

Pair Merge(const Cells& cells, const Ball& rest) {
  Pair pair;
  for (size_t i = 0; i < cells.masses.size(); ++i) {
    const Ball& q = cells.masses[i];
    const Ball p = cells.excesses[i] + cells.ratios[i] * q;
    if (!CertainlyPositive(q)) continue;
    pair.remove.atoms.push_back({p, Log(p / q)});
    pair.add.atoms.push_back({q, -Log((p + rest) / q)});
  }
  return pair;
}

}  // namespace dpledger::certify
