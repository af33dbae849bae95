#include "accountant/pair/sampling.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

constexpr double kRootHalf = 0.70710678118654752440;
// Boost.Math's incomplete beta function is within 3e-15 for populations up to kGreatestPopulation
// (compared with 50 digits); it loses digits beyond. Its binomial density holds for the numbers of
// draws used here.
constexpr double kBinomialError = 1e-12;
constexpr double kLeastNormal = 0x1p-1022;
// Binomial weights below this of the whole are not told apart any more, nor more copies than these.
constexpr double kLeastWeight = 1e-290;
constexpr size_t kMostCopies = 1025;

ExponentialTerm Shifted(double weight, double distance) {
  return {std::log(weight) - distance * distance / 2, distance};
}

double ErrorOf(double q, double distance) {
  return kUnitRoundoff * (32 + 4 * distance * distance + 4 * std::fabs(std::log(q)));
}

DensityPiece NormalPiece(double from, double to, double weight) {
  return {from, to, std::log(weight) - kLogSqrtTwoPi, 0, -0.5, {{0, 0}}, {{0, 0}}};
}

// (1-q)N(0) + qN(distance) as terms over N(0)'s density.
std::vector<ExponentialTerm> SampledTerms(double q, double distance) {
  if (q == 1) return {Shifted(1, distance)};
  return {{std::log1p(-q), 0}, Shifted(q, distance)};
}

// Pr[Bin(n, q) = k], relative error kBinomialError; where it is no normal double, the least one in
// an upper pair and 0 in a lower one.
double BinomialWeight(double n, double q, double k, Bound bound) {
  // Boost raises 1 - q, rounded, to the power n.
  const double weight = k == 0
                            ? std::exp(n * std::log1p(-q))
                            : boost::math::pdf(boost::math::binomial_distribution<double>(n, q), k);
  if (weight >= kLeastNormal) return weight;
  return bound == Bound::kUpper ? kLeastNormal : 0;
}
// Where k of n records move the mean, k ~ Bin(n, q): by how much, and with which probability. What
// is left of one belongs to more copies.
struct Copies {
  std::vector<double> distances, weights;
};
Copies CopiesOf(double n, double q, double distance, Bound bound) {
  Copies copies;
  for (double k = 0; k <= n && copies.weights.size() < kMostCopies; ++k) {
    const double weight = BinomialWeight(n, q, k, bound);
    if (k > n * q && k > 1 && weight < kLeastWeight) break;
    copies.distances.push_back(k * distance);
    copies.weights.push_back(weight);
  }
  return copies;
}
// Pr[Bin(n, q) >= k] for k >= 1.
double BinomialTail(double n, double q, double k) {
  if (k > n) return 0;
  return boost::math::ibeta(k, n - k + 1, q);
}
// Pr[Bin(n, q) < k] for k >= 1.
double BinomialHead(double n, double q, double k) {
  if (k > n) return 1;
  return boost::math::ibetac(k, n - k + 1, q);
}

}  // namespace

void AddWeighted(double weight, const Pair& part, Pair& mixture) {
  for (const Atom& atom : part.atoms) mixture.atoms.push_back({weight * atom.p, weight * atom.q});
  for (DensityPiece piece : part.pieces) {
    piece.constant += std::log(weight);
    mixture.pieces.push_back(std::move(piece));
  }
  mixture.relative_error =
      std::fmax(mixture.relative_error,
                part.relative_error + 4 * kUnitRoundoff * (1 + std::fabs(std::log(weight))));
}

Pair PoissonSampledPair(double q, const Pair& pair) {
  if (q == 1) return pair;
  Pair sampled = pair;
  sampled.symmetric = false;
  sampled.relative_error += kUnitRoundoff * (8 + 2 * std::fabs(std::log(q)));
  for (Atom& atom : sampled.atoms) atom.p = (1 - q) * atom.q + q * atom.p;
  for (DensityPiece& piece : sampled.pieces) {
    // Q's one term goes into the common factor, so that it becomes a constant.
    const ExponentialTerm base = piece.q.front();
    piece.constant += base.log_coefficient;
    piece.linear += base.rate;
    piece.q = {{0, 0}};
    for (ExponentialTerm& term : piece.p) {
      term.log_coefficient += std::log(q) - base.log_coefficient;
      term.rate -= base.rate;
    }
    piece.p.push_back({std::log1p(-q), 0});
  }
  return sampled;
}

Pair SampledGaussianPair(double q, double distance) {
  DensityPiece piece = NormalPiece(-kInfinity, kInfinity, 1);
  piece.p = SampledTerms(q, distance);
  return {{}, {std::move(piece)}, ErrorOf(q, distance), q == 1};
}

Pair OpposedGaussianPair(double q, double distance, double opposite_distance) {
  DensityPiece piece = NormalPiece(-kInfinity, kInfinity, 1);
  piece.p = SampledTerms(q, distance);
  piece.q = SampledTerms(q, -opposite_distance);
  return {{},
          {std::move(piece)},
          ErrorOf(q, std::fmax(distance, opposite_distance)),
          distance == opposite_distance};
}

// The profile is that of the sampled pair for ε >= 0, where t > distance/2; its mirror image for ε
// < 0; and what is left of the mass has no loss.
Pair WithoutReplacementPair(double q, double distance) {
  if (q == 1) return SampledGaussianPair(1, distance);
  Pair pair;
  DensityPiece gain = NormalPiece(distance / 2, kInfinity, 1);
  gain.p = SampledTerms(q, distance);
  DensityPiece mirror = NormalPiece(-kInfinity, -distance / 2, 1);
  mirror.q = SampledTerms(q, -distance);
  const double total_variation = std::erf(distance / 2 * kRootHalf);  // Φ(d/2) - Φ(-d/2)
  pair.atoms = {{(1 - q) * total_variation, (1 - q) * total_variation}};
  pair.pieces = {std::move(gain), std::move(mirror)};
  pair.relative_error = ErrorOf(q, distance);
  pair.symmetric = true;
  return pair;
}

// From the place of a record that points the other way, the null is at d and the record at 2d: more
// likely with it past 3d/2, where the loss grows.
Pair ZeroedWithoutReplacementPair(double q, double distance, Bound bound) {
  if (q == 1) return SampledGaussianPair(1, distance);
  const double from = 1.5 * distance;
  Pair pair;
  DensityPiece gain = NormalPiece(from, kInfinity, 1);
  gain.p = SampledTerms(q, 2 * distance);
  gain.q = SampledTerms(q, distance);
  if (bound == Bound::kLower) {
    const double before = (1 - q) * NormalTail(-from), with = q * NormalTail(2 * distance - from),
                 without = q * NormalTail(distance - from);
    pair.atoms = {{before + with, before + without}};
    pair.pieces = {std::move(gain)};
  } else {
    DensityPiece mirror = NormalPiece(-kInfinity, -distance / 2, 1);
    mirror.q = SampledTerms(q, -distance);
    const double rest =
        (1 - q) / 2 * (std::erf(from * kRootHalf) + std::erf(distance / 2 * kRootHalf));
    pair.atoms = {{rest, rest}};
    pair.pieces = {std::move(gain), std::move(mirror)};
  }
  pair.relative_error = ErrorOf(q, 2 * distance) + kNormalTailError;
  return pair;
}

Pair WithReplacementPair(uint64_t population, uint64_t draws, double distance, Bound bound) {
  const double m = static_cast<double>(draws), share = 1 / static_cast<double>(population);
  if (population == 1) return SampledGaussianPair(1, m * distance);
  const auto [distances, weights] = CopiesOf(m, share, distance, bound);
  if (bound == Bound::kLower) return MixturePair(distances, weights, kBinomialError, bound);
  const double some = -std::expm1(m * std::log1p(-share));
  Pair pair;
  for (size_t k = 1; k < weights.size(); ++k) {
    if (weights[k] == 0) continue;
    AddWeighted(weights[k] / some, WithoutReplacementPair(some, distances[k]), pair);
  }
  // More copies than that: taken to reveal everything when the record is among the sample.
  const double rest =
      std::fmax(BinomialTail(m, share, static_cast<double>(weights.size())) * (1 + kBinomialError),
                0) /
      some;
  if (rest > 0) {
    Pair seen{{{some, 0}, {0, some}}, {}, 0, true};
    if (some < 1) seen.atoms.push_back({1 - some, 1 - some});
    AddWeighted(std::fmin(rest, 1), seen, pair);
  }
  pair.relative_error += 2 * kBinomialError;
  pair.symmetric = true;
  return pair;
}

Pair TruncatedPoissonPair(uint64_t population, double q, uint64_t most, double distance,
                          Neighbour neighbour, Bound bound) {
  const double n = static_cast<double>(population), b = static_cast<double>(most);
  const double others = n - 1;
  // That the others fill the sample, and that the record then still gets in.
  const double full = BinomialTail(others, q, b);
  const double joins = full > 0 ? std::fmin(1, BinomialTail(n, q, b + 1) * b / (n * full)) : 0;
  if (bound == Bound::kLower) {
    const double in = (q * (1 - full) + joins * full) * (1 - 4 * kBinomialError);
    return neighbour == Neighbour::kOther ? OpposedGaussianPair(in, distance, distance)
                                          : SampledGaussianPair(in, distance);
  }
  // In a full sample the record takes another's place, which moves the mean twice as far.
  const auto part = [&](double rate, double moved, double opposite) {
    return neighbour == Neighbour::kAbsent || opposite == 0
               ? SampledGaussianPair(rate, moved)
               : OpposedGaussianPair(rate, moved, opposite);
  };
  const double own_opposite = neighbour == Neighbour::kOther ? distance : 0;
  const double full_opposite = neighbour == Neighbour::kOther ? 2 * distance : distance;
  const double joins_up = std::fmin(1, joins * (1 + 3 * kBinomialError));
  const double head = BinomialHead(others, q, b);
  Pair pair;
  if (head > 0) AddWeighted(head, part(q, distance, own_opposite), pair);
  if (full > 0) {
    AddWeighted(full, part(joins_up > 0 ? joins_up : 1, 2 * distance, full_opposite), pair);
  }
  pair.relative_error += 2 * kBinomialError;  // of both weights
  pair.symmetric = neighbour == Neighbour::kOther;
  return pair;
}

Pair GroupSampledGaussianPair(uint64_t group_size, double q, double distance, Bound bound) {
  const double k = static_cast<double>(group_size);
  if (q == 1) return SampledGaussianPair(1, k * distance);
  const auto [distances, weights] = CopiesOf(k, q, distance, bound);
  Pair pair = MixturePair(distances, weights, kBinomialError, bound);
  const double rest = BinomialTail(k, q, static_cast<double>(weights.size()));
  if (bound == Bound::kUpper && rest > 0) {
    // More copies than that: however rare, what they show is far out.
    if (pair.atoms.empty()) pair.atoms.push_back({0, 0});
    pair.atoms.front().p = std::fmax(pair.atoms.front().p, rest * (1 + kBinomialError));
  }
  return pair;
}

}  // namespace dpledger::accountant
