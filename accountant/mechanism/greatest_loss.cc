#include "accountant/mechanism/greatest_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

// Below, a quotient of masses has lost digits that relative_error does not count.
constexpr double kLeastMass = std::numeric_limits<double>::min();
// log((1 + e)/(1 - e)) <= 3e up to here; no pair is near it.
constexpr double kGreatestError = 0.1;

// Rounded down; infinity, which is exact here, stays.
double Down(double x) { return std::isinf(x) ? x : NextDown(x); }

// The size of the exponents at t, for the error of a piece's loss there.
double ExponentsAt(const std::vector<ExponentialTerm>& terms, double t) {
  double greatest = 0;
  for (const ExponentialTerm& term : terms) {
    const double product = term.rate == 0 ? 0 : std::fabs(term.rate * t);
    if (std::isfinite(product)) {
      greatest = std::fmax(greatest, std::fabs(term.log_coefficient) + product);
    }
  }
  return greatest;
}

// Log-ratios of single outcomes that occur, each as an interval; the greatest of them.
Interval OfPair(const Pair& pair, Direction direction) {
  const double slack = 3 * pair.relative_error;
  if (!(pair.relative_error < kGreatestError)) return {0, kInfinity};
  Interval greatest{-kInfinity, -kInfinity};
  const auto consider = [&](double below, double above) {
    greatest = {std::fmax(greatest.lower(), Down(below - slack)),
                std::fmax(greatest.upper(), AddUp(above, slack))};
  };
  for (const Atom& atom : pair.atoms) {
    const double in = direction == Direction::kRemove ? atom.p : atom.q;
    const double out = direction == Direction::kRemove ? atom.q : atom.p;
    if (in == 0) continue;
    if (out == 0) {
      consider(kInfinity, kInfinity);
    } else if (in == out && slack == 0) {
      greatest = {std::fmax(greatest.lower(), 0), std::fmax(greatest.upper(), 0)};
    } else if (in < kLeastMass || out < kLeastMass) {
      consider(-kInfinity, kInfinity);
    } else {
      consider(LogDown(DivDown(in, out)), LogUp(DivUp(in, out)));
    }
  }
  for (const DensityPiece& piece : pair.pieces) {
    // The loss does not fall with t.
    const double end = direction == Direction::kRemove ? piece.to : piece.from;
    const double loss = direction == Direction::kRemove ? piece.Loss(end) : -piece.Loss(end);
    const auto terms = static_cast<double>(piece.p.size() + piece.q.size());
    const double error =
        8 * kUnitRoundoff * (terms + ExponentsAt(piece.p, end) + ExponentsAt(piece.q, end));
    // The end itself has no mass, but every loss near it has.
    consider(piece.from < piece.to ? loss - error : -kInfinity, loss + error);
  }
  return {std::fmax(0, greatest.lower()), std::fmax(0, greatest.upper())};
}

// P is (1-q)Q + q·N(z): log(P/Q) has no bound where the Gaussian has none, log(Q/P) <= -log(1-q).
Interval OfStep(const SampledGaussian& step, Direction direction) {
  const double q = step.sampling_probability;
  const bool some = std::isfinite(step.noise_multiplier.upper());
  if (direction == Direction::kRemove || q == 1) return {some ? kInfinity : 0, kInfinity};
  const double loss = -std::log1p(-q);
  return {some ? NextDown(NextDown(NextDown(loss))) : 0, NextUp(NextUp(NextUp(loss)))};
}

// The ratio of P to Q is at least missing/rounds; to that of another record it has no bound.
double AboveOf(const AllocatedGaussian& epochs, Direction direction) {
  if (direction == Direction::kRemove || epochs.missing == 0 || epochs.replaced) return kInfinity;
  return LogUp(DivUp(static_cast<double>(epochs.rounds), static_cast<double>(epochs.missing)));
}

// The limit of R(α) at infinite α.
double AboveOf(const RenyiBound& bound) {
  if (const auto* zcdp = std::get_if<ZeroConcentrated>(&bound)) {
    return zcdp->rho == 0 ? zcdp->xi : kInfinity;
  }
  if (const auto* range = std::get_if<BoundedRange>(&bound)) return range->epsilon;
  return kInfinity;
}

Interval InDirection(const Composition& composition, Direction direction);

// P' is (1-q)Q + qP, with P/Q at most e^l in one direction and at least e^-l in the other.
double AboveOf(const SampledRun& sampled, Direction direction) {
  const double l = InDirection(*sampled.run, direction).upper(), q = sampled.probability;
  if (direction == Direction::kAdd) return -std::log1p(q * std::expm1(-l)) * (1 + 1e-14);
  return l > 600 ? l : std::log1p(q * std::expm1(l)) * (1 + 1e-14);
}

Interval InDirection(const Composition& composition, Direction direction) {
  // (No interval: of a step that stands for others from below alone, the bounds cross.)
  double below = 0, above = 0;
  const auto add = [&](double lower, double upper, uint64_t count) {
    const auto times = static_cast<double>(count);
    if (lower > 0) below = std::fmax(0, Down(below + Down(lower * NextDown(times))));
    if (upper > 0) above = AddUp(above, MulUp(upper, NextUp(times)));
  };
  for (const SampledGaussian& step : composition.steps) {
    const Interval one = OfStep(step, direction);
    add(one.lower(), one.upper(), step.count);
  }
  for (const PairStep& step : composition.pairs) {
    const Interval upper = OfPair(step.upper, direction);
    const Interval lower = step.lower == step.upper ? upper : OfPair(step.lower, direction);
    add(lower.lower(), upper.upper(), step.count);
  }
  for (const AllocatedGaussian& epochs : composition.allocations) {
    add(0, AboveOf(epochs, direction), epochs.count);
  }
  for (const CurveStep& step : composition.curves) {
    const auto* sampled = std::get_if<SampledRun>(&step.renyi);
    add(0, sampled != nullptr ? AboveOf(*sampled, direction) : AboveOf(step.renyi), step.count);
  }
  return {below, above};
}

}  // namespace

Interval GreatestLoss(const Composition& composition, std::optional<Direction> direction) {
  if (direction.has_value()) return InDirection(composition, *direction);
  const Interval remove = InDirection(composition, Direction::kRemove);
  const Interval add = InDirection(composition, Direction::kAdd);
  return {std::fmax(remove.lower(), add.lower()), std::fmax(remove.upper(), add.upper())};
}

}  // namespace dpledger::accountant
