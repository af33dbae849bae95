#include "accountant/pair/pairs.h"

#include <algorithm>
#include <cmath>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

constexpr double kLogTwo = 0.69314718055994530942;
// e^{±ε} and products of two such stay normal doubles.
constexpr double kGreatestEpsilon = 600;
// Outcomes of greater losses are one in a lower pair: a loss grid holds none above 660.
constexpr double kGreatestGridLoss = 600;
// From this mass on outcomes of greater losses are one of their own: e^{-600} of it is far above
// what was never summed.
constexpr double kLeastEnd = 1e-20;
// Every mass below is a product of a few correctly rounded operations and at most three library
// calls.
constexpr double kFewRoundings = 32 * kUnitRoundoff;

}  // namespace

Pair Everything() { return {{{1, 0}, {0, 1}}, {}, 0, true}; }

Pair LaplacePair(double distance, Bound bound) {
  if (distance > kGreatestEpsilon) {
    // Less distance shows less.
    return bound == Bound::kUpper ? Everything() : LaplacePair(kGreatestEpsilon, bound);
  }
  Pair pair;
  const double far = std::exp(-distance) / 2;
  pair.atoms = {{far, 0.5}, {0.5, far}};
  // Q has density e^{-t}/2 between the two centres, and P e^{2t - distance} times as much.
  pair.pieces = {{0, distance, -kLogTwo, -1, 0, {{-distance, 2}}, {{0, 0}}}};
  pair.relative_error = kFewRoundings + 2 * kUnitRoundoff * distance;
  pair.symmetric = true;
  return pair;
}

Pair DiscreteLaplacePair(double a, uint64_t sensitivity, Bound bound) {
  const double epsilon = a * static_cast<double>(sensitivity);
  if (epsilon > kGreatestEpsilon) {
    if (bound == Bound::kUpper) return Everything();
    // Less distance shows less, and more noise.
    const double nearer = std::floor(kGreatestEpsilon / a);
    return nearer >= 1 ? DiscreteLaplacePair(a, static_cast<uint64_t>(nearer), bound)
                       : DiscreteLaplacePair(kGreatestEpsilon, 1, bound);
  }
  Pair pair;
  const double tail = 1 / (1 + std::exp(-a));
  pair.atoms = {{tail * std::exp(-epsilon), tail}, {tail, tail * std::exp(-epsilon)}};
  const double centre = std::tanh(a / 2);
  for (uint64_t k = 1; k < sensitivity; ++k) {
    pair.atoms.push_back({centre * std::exp(-a * static_cast<double>(sensitivity - k)),
                          centre * std::exp(-a * static_cast<double>(k))});
  }
  pair.relative_error = kFewRoundings + 4 * kUnitRoundoff * epsilon;
  pair.symmetric = true;
  return pair;
}

Pair DiscreteGaussianPair(double sigma, uint64_t sensitivity, Bound bound) {
  const double shift = static_cast<double>(sensitivity);
  const auto weight = [sigma](double k) { return std::exp(-(k / sigma) * (k / sigma) / 2); };
  // Beyond, e^{-x²/2} is no normal double.
  const double reach = std::ceil(37 * sigma);
  long double total = 1;
  for (double k = 1; k <= reach; ++k) total += 2 * static_cast<long double>(weight(k));
  const double scale = static_cast<double>(1 / total);
  Pair pair;
  // Outcomes at which both are normal: [shift - reach, reach]. The outcomes beyond have an infinite
  // loss in the upper pair. In the lower pair they join the last outcome on their side; if they
  // have much mass, they are one outcome of their own on each side. Outcomes whose loss no grid
  // holds count with them.
  Atom below{0, 0}, above{0, 0};
  for (double k = -reach; k <= shift + reach; ++k) {
    const Atom atom{std::fabs(k - shift) <= reach ? scale * weight(k - shift) : 0,
                    std::fabs(k) <= reach ? scale * weight(k) : 0};
    const double loss = shift * (k - shift / 2) / (sigma * sigma);
    const bool held = bound == Bound::kUpper || std::fabs(loss) < kGreatestGridLoss;
    if (atom.p > 0 && atom.q > 0 && held) {
      pair.atoms.push_back(atom);
    } else {
      Atom& end = k < shift / 2 ? below : above;
      end.p += atom.p;
      end.q += atom.q;
    }
  }
  if (bound == Bound::kUpper) {
    if (pair.atoms.empty()) return Everything();
    // The tails that were never summed are below 1e-290 of the mass.
    pair.atoms.push_back({above.p + 1e-290, 0});
    pair.atoms.push_back({0, below.q + 1e-290});
  } else if (above.p > kLeastEnd) {
    // Outcomes of their own, rarely exchanged, so that a loss grid holds them.
    const double rarely = std::exp(-kGreatestGridLoss);
    pair.atoms.push_back({above.p + rarely * below.p, above.q + rarely * below.q});
    pair.atoms.push_back({below.p + rarely * above.p, below.q + rarely * above.q});
  } else {
    for (const auto& [end, joined] :
         {std::pair(&below, &pair.atoms.front()), std::pair(&above, &pair.atoms.back())}) {
      joined->p += end->p;
      joined->q += end->q;
    }
  }
  // Exponents up to 37²/2 are rounded to 4u of their size; the sum is kept in long double.
  pair.relative_error = kFewRoundings + 4 * 37 * 37 * kUnitRoundoff;
  pair.symmetric = true;
  return pair;
}

namespace {

// Point masses without the outcomes that never occur.
Pair Atoms(std::vector<Atom> atoms, bool symmetric) {
  std::erase_if(atoms, [](const Atom& atom) { return atom.p == 0 && atom.q == 0; });
  return {std::move(atoms), {}, kFewRoundings, symmetric};
}

}  // namespace

Pair RandomizedResponsePair(double noise, uint64_t buckets) {
  const double k = static_cast<double>(buckets);
  const double other = noise / k, own = (1 - noise) + other;
  return Atoms({{own, other}, {other, own}, {(k - 2) * other, (k - 2) * other}}, true);
}

Pair RandomizedResponseAgainstUniform(double noise, uint64_t buckets) {
  const double k = static_cast<double>(buckets);
  const double other = noise / k, own = (1 - noise) + other;
  return Atoms({{own, 1 / k}, {(k - 1) * other, (k - 1) / k}}, false);
}

Pair EpsilonDeltaPair(double epsilon, double delta, Bound bound) {
  if (epsilon > kGreatestEpsilon) {
    if (bound == Bound::kLower) return Pair::Nothing();
    return Everything();
  }
  const double greater = (1 - delta) / (1 + std::exp(-epsilon));
  const double less = (1 - delta) / (1 + std::exp(epsilon));
  Pair pair = Atoms({{delta, 0}, {0, delta}, {greater, less}, {less, greater}}, true);
  pair.relative_error += 4 * kUnitRoundoff * epsilon;
  return pair;
}

Pair BoundedRangePair(double epsilon) {
  if (epsilon == 0) return Pair::Nothing();
  if (epsilon > kGreatestEpsilon) return Everything();
  Pair pair;
  // The loss itself is t: Q has density e^{(ε-t)/2}/(2(e^ε - 1)) on [-ε, ε], P e^t times as much.
  const double constant = epsilon / 2 - kLogTwo - std::log(std::expm1(epsilon));
  pair.pieces = {{-epsilon, epsilon, constant, -0.5, 0, {{0, 1}}, {{0, 0}}}};
  pair.relative_error = kFewRoundings + 8 * kUnitRoundoff * (epsilon + std::fabs(constant));
  pair.symmetric = true;
  return pair;
}

Pair NoisyMaxPair(double epsilon) {
  return epsilon == 0 ? Pair::Nothing() : LaplacePair(epsilon, Bound::kUpper);
}

Pair MixturePair(const std::vector<double>& distances, const std::vector<double>& weights,
                 double relative_error, Bound bound) {
  DensityPiece piece{-INFINITY, INFINITY, -kLogSqrtTwoPi, 0, -0.5, {}, {{0, 0}}};
  double at_zero = 0, total = 0, size = 0;
  for (size_t i = 0; i < distances.size(); ++i) {
    total += weights[i];
    if (distances[i] == 0) {
      at_zero += weights[i];
    } else if (weights[i] > 0) {
      piece.p.push_back({std::log(weights[i]) - distances[i] * distances[i] / 2, distances[i]});
      size = std::fmax(size, distances[i] * distances[i] - std::log(weights[i]));
    }
  }
  Pair pair;
  pair.relative_error = relative_error + kFewRoundings +
                        static_cast<double>(weights.size()) * kUnitRoundoff +
                        4 * kUnitRoundoff * size;
  const double left = std::fmax(0, 1 - total);
  if (bound == Bound::kLower) {
    at_zero += left;
  } else if (left > pair.relative_error) {
    pair.atoms.push_back({left, 0});
  }
  if (at_zero > 0) piece.p.push_back({std::log(at_zero), 0});
  if (!piece.p.empty()) pair.pieces.push_back(std::move(piece));
  return pair;
}

}  // namespace dpledger::accountant
