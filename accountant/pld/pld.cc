#include "accountant/pld/pld.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

// Mesh refinements at most. Each at least halves the gap where the error law holds; the first guess
// usually does.
constexpr int kRefinements = 8;
// The share of δ that the tails of single steps may put at infinity: 1e-7/c of ε, far below any
// mesh error.
constexpr double kTailShare = 1e-7;
// A loss grid longer than this would take longer to build than any transform of it; all grids
// together take at most about 1 GiB (four doubles an atom).
constexpr size_t kGreatestAtoms = size_t{1} << 21;
constexpr size_t kGreatestAtomsTogether = size_t{1} << 25;
// Beyond, rounding alone (a few u a step) would take the interval's digits.
constexpr double kGreatestCount = 1e12;

// Both discretisations of a composition on one mesh.
struct Discretised {
  std::vector<CountedPair> upper;
  std::vector<CountedPair> lower;
};

absl::StatusOr<Discretised> Discretise(const Composition& composition, double step, double tail,
                                       const Limits& limits) {
  Discretised result;
  const size_t most = std::min(kGreatestAtoms, kGreatestAtomsTogether / composition.steps.size());
  for (const SampledGaussian& s : composition.steps) {
    RETURN_IF_ERROR(limits.Check());
    const double count = static_cast<double>(s.count);
    ASSIGN_OR_RETURN(DiscretePair upper,
                     BuildUpper(s.sampling_probability, DivUp(1, s.noise_multiplier.lower), step,
                                tail, most, limits));
    ASSIGN_OR_RETURN(DiscretePair lower,
                     BuildLower(s.sampling_probability, DivDown(1, s.noise_multiplier.upper), step,
                                tail, most, limits));
    result.upper.push_back({std::move(upper), count});
    result.lower.push_back({std::move(lower), count});
  }
  return result;
}

double TailMass(const Composition& composition, double log_delta) {
  return std::exp(std::fmax(-640.0, log_delta + std::log(kTailShare / composition.TotalCount())));
}

// A wanted quantity on one mesh: its bounds in one direction, given where to look.
using OnMesh = std::function<absl::StatusOr<Interval>(const Discretised&, Direction)>;

// Refines the mesh until the bounds are as near as wanted, keeping the best of each. `limit` is
// what is known without.
absl::StatusOr<Bounds> Refine(const Composition& composition, std::vector<Direction> directions,
                              double first_step, double tail, double relative_gap, double limit,
                              const OnMesh& on_mesh, const Limits& limits) {
  Interval best{0, limit};
  double step = first_step, finest_failed = 0;
  bool gridded = false;
  for (int i = 0; i < kRefinements; ++i) {
    absl::StatusOr<Interval> worst = Interval{0, 0};
    const absl::StatusOr<Discretised> mesh = Discretise(composition, step, tail, limits);
    if (!mesh.ok()) worst = mesh.status();
    for (const Direction direction : directions) {
      if (!worst.ok()) break;
      const absl::StatusOr<Interval> found = on_mesh(*mesh, direction);
      if (!found.ok()) {
        worst = found.status();
      } else {  // the guarantee is the worse of the directions
        worst->lower = std::fmax(worst->lower, found->lower);
        worst->upper = std::fmax(worst->upper, found->upper);
      }
    }
    if (worst.ok()) {
      const double before = best.RelativeGap();
      gridded = true;
      best.lower = std::fmax(best.lower, worst->lower);
      best.upper = std::fmin(best.upper, worst->upper);
      const double gap = best.RelativeGap();
      if (gap <= relative_gap || best.upper == 0) return Bounds{best, true};
      // No finer mesh within reach, or the mesh is not what keeps the bounds apart.
      if (step * 0.999 <= finest_failed || (i > 1 && gap > 0.9 * before)) break;
      step = std::fmax(step * std::clamp(0.92 * std::sqrt(relative_gap / gap), 0.25, 0.7),
                       1.001 * finest_failed);
    } else if (absl::IsDeadlineExceeded(worst.status())) {
      break;  // a looser interval, said so, rather than none
    } else if (absl::IsResourceExhausted(worst.status())) {
      finest_failed = step;
      step *= 2;
    } else {
      return worst.status();
    }
  }
  return Bounds{best, best.RelativeGap() <= relative_gap, gridded};
}

// Where ε is thought to be, and its saddle; moved to what was found.
struct Guess {
  double epsilon;
  double tilt;
};

// ε in one direction on one mesh.
absl::StatusOr<Interval> EpsilonOnMesh(const Discretised& mesh, Direction direction, double delta,
                                       double limit, Guess& guess, const Limits& limits) {
  const double log_delta_down = LogDown(delta), log_delta_up = LogUp(delta);
  const DirectedLosses upper(mesh.upper, direction);
  Interval result{0, limit};
  double tilt = 0, sd = 0;
  for (int i = 0; i < 4; ++i) {
    tilt = guess.tilt = upper.Tilt(guess.epsilon, guess.tilt);
    sd = std::sqrt(upper.LogMgf(tilt).variance);
    ASSIGN_OR_RETURN(const Composed composed, Composed::Compose(upper, tilt, limits));
    const auto too_much = [&](double e) { return composed.LogDeltaUp(e) - log_delta_down; };
    if (too_much(0) <= 0) return Interval{0, 0};
    if (too_much(limit) <= 0)
      result.upper = std::fmin(result.upper, BracketDecreasing(too_much, 0, limit, 1e-14).second);
    // A tilt for an ε more than two standard deviations away loses digits: once more from what was
    // found.
    const bool close = std::fabs(result.upper - guess.epsilon) <= 2 * sd;
    guess.epsilon = result.upper;
    if (close) break;
  }
  const DirectedLosses lower(mesh.lower, direction);
  absl::StatusOr<Composed> composed = Composed::Compose(lower, tilt, limits);
  RETURN_IF_ERROR(composed.status());
  const auto surely_more = [&](double e) { return composed->LogDeltaDown(e) - log_delta_up; };
  // The bound is good near the tilt's ε only: walk down from the upper bound until it holds.
  for (double down = 1e-6 * result.upper; down < 6 * sd + result.upper; down *= 4) {
    const double from = std::fmax(0, result.upper - down);
    if (surely_more(from) > 0) {
      result.lower = surely_more(result.upper) > 0
                         ? result.upper
                         : BracketDecreasing(surely_more, from, result.upper, 1e-14).first;
      break;
    }
    if (from == 0) break;
  }
  return result;
}

absl::StatusOr<Interval> DeltaOnMesh(const Discretised& mesh, Direction direction, double epsilon,
                                     double near_tilt, const Limits& limits) {
  const DirectedLosses upper(mesh.upper, direction);
  const double tilt = upper.Tilt(epsilon, near_tilt);
  ASSIGN_OR_RETURN(const Composed above, Composed::Compose(upper, tilt, limits));
  ASSIGN_OR_RETURN(const Composed below,
                   Composed::Compose(DirectedLosses(mesh.lower, direction), tilt, limits));
  return Interval{ExpDown(below.LogDeltaDown(epsilon)),
                  std::fmin(1, ExpUp(above.LogDeltaUp(epsilon)))};
}

absl::StatusOr<Bounds> EpsilonOver(std::vector<Direction> directions,
                                   const Composition& composition, double delta,
                                   double relative_gap, const Limits& limits) {
  if (composition.steps.empty()) return Bounds{{0, 0}, true};
  ASSIGN_OR_RETURN(const rdp::Converted renyi,
                   rdp::EpsilonFromCurve(rdp::CurveOf(composition), delta, limits));
  if (renyi.value == 0) return Bounds{{0, 0}, true};
  if (!std::isfinite(renyi.value) || composition.TotalCount() > kGreatestCount) {
    return Bounds{{0, renyi.value}, false, false};
  }
  // A mesh three times too coarse first: a ninth of the price shows where ε and its saddle really
  // are (the Rényi bound can be twice ε for many distinct steps). Error law of this pair of
  // discretisations: gap in ε = (c + 1) T h²/8, c the saddle order, about α - 1 (numerically
  // verified within a few per cent wherever cells are narrower than the loss's bulk).
  const double step =
      3 * std::sqrt(8 * relative_gap * renyi.value / (renyi.order * composition.TotalCount()));
  Guess remove{renyi.value * 0.95, renyi.order - 1}, add{renyi.value * 0.9, renyi.order - 1};
  const OnMesh on_mesh = [&](const Discretised& mesh, Direction direction) {
    return EpsilonOnMesh(mesh, direction, delta, renyi.value,
                         direction == Direction::kRemove ? remove : add, limits);
  };
  return Refine(composition, std::move(directions), step, TailMass(composition, std::log(delta)),
                relative_gap, renyi.value, on_mesh, limits);
}

absl::StatusOr<Bounds> DeltaOver(std::vector<Direction> directions, const Composition& composition,
                                 double epsilon, double relative_gap, const Limits& limits) {
  if (composition.steps.empty()) return Bounds{{0, 0}, true};
  ASSIGN_OR_RETURN(const rdp::Converted renyi,
                   rdp::DeltaFromCurve(rdp::CurveOf(composition), epsilon, limits));
  if (renyi.value == 0) return Bounds{{0, 0}, true};
  if (composition.TotalCount() > kGreatestCount) return Bounds{{0, renyi.value}, false, false};
  // d log δ/dε is about -c, so the law above times c.
  const double c = std::fmax(renyi.order - 1, 0.1);
  const double step =
      0.8 * std::sqrt(8 * relative_gap / (c * renyi.order * composition.TotalCount()));
  const OnMesh on_mesh = [&](const Discretised& mesh, Direction direction) {
    return DeltaOnMesh(mesh, direction, epsilon, c, limits);
  };
  // δ is at least about 1e-4 of the Rényi bound in all but absurd cases; the tails are cut below
  // that.
  return Refine(composition, std::move(directions), step,
                TailMass(composition, std::log(renyi.value) - 9), relative_gap, renyi.value,
                on_mesh, limits);
}

}  // namespace

absl::StatusOr<Bounds> Epsilon(const Composition& composition, double delta, double relative_gap,
                               const Limits& limits) {
  return EpsilonOver({Direction::kRemove, Direction::kAdd}, composition, delta, relative_gap,
                     limits);
}

absl::StatusOr<Bounds> Delta(const Composition& composition, double epsilon, double relative_gap,
                             const Limits& limits) {
  return DeltaOver({Direction::kRemove, Direction::kAdd}, composition, epsilon, relative_gap,
                   limits);
}

absl::StatusOr<Bounds> EpsilonIn(Direction direction, const Composition& composition, double delta,
                                 double relative_gap, const Limits& limits) {
  return EpsilonOver({direction}, composition, delta, relative_gap, limits);
}

absl::StatusOr<Bounds> DeltaIn(Direction direction, const Composition& composition, double epsilon,
                               double relative_gap, const Limits& limits) {
  return DeltaOver({direction}, composition, epsilon, relative_gap, limits);
}

}  // namespace dpledger::accountant::pld
