#include "accountant/pld/refine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accountant/numeric/constants.h"
#include "accountant/pld/work.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

// Mesh refinements at most. Each at least halves the gap where the error law holds; the first guess
// usually does.
constexpr int kRefinements = 6;
constexpr double kLeastWindowTail = 1e-25;
// The mesh's aim, a little finer than the error law asks for.
constexpr double kAim = 0.9;
// A direction whose ε is expected below this share of the other's is only shown to be below it, on
// a mesh kCoarser times as wide.
constexpr double kClearlyLess = 0.97, kCoarser = 3;
// Steps that ask for a fine mesh may take this much beyond what is left of the work, or as much as
// is little anyway; beyond that no mesh is within reach.
constexpr double kBeyondLeft = 2, kLittleWork = 2e8;
// A finer mesh that is no finer than this is not worth its time.
constexpr double kWorthIt = 0.8;

// Where nearly all outcomes show nothing, the window's tails outweigh those that show much, and
// nothing is left below: less of a tail, not a finer mesh, brings it back.
bool IsCutAway(const Bounds& best, const Question& question) {
  return best.value.lower() == 0 && question.window_tail > kLeastWindowTail;
}

}  // namespace

absl::StatusOr<Discretised> Question::Discretise(const Steps& steps, double step, double tail,
                                                 double tilt, const Limits& limits) {
  ASSIGN_OR_RETURN(Discretised made, steps.Discretise(steps.Aligned(step), tail, tilt, limits));
  work += WorkOf(made);
  return made;
}

absl::StatusOr<Composed> Question::Compose(const DirectedLosses& losses, double tilt,
                                           const Limits& limits) {
  ASSIGN_OR_RETURN(Composed made, Composed::Compose(losses, tilt, limits, window_tail));
  most_bins = std::max(most_bins, made.bins());
  work += WorkOfComposing(made.bins(), losses.losses().size());
  return made;
}

absl::StatusOr<Bounds> Refine(const Steps& steps, const Sketch& sketch,
                              std::vector<Direction> directions, Question& question, double tail,
                              double relative_gap, const Limits& limits) {
  std::vector<Sketch::Estimate> estimates;
  size_t main = 0;
  for (size_t i = 0; i < directions.size(); ++i) {
    estimates.push_back(question.expect(directions[i]));
    if (question.value(estimates[i]) > question.value(estimates[main])) main = i;
  }
  std::swap(directions[0], directions[main]);
  std::swap(estimates[0], estimates[main]);
  const double aim = kAim * question.mesh(directions[0], estimates[0]);
  double mesh =
      FirstMesh(steps, sketch, directions[0], estimates[0], question.window_tail, aim, limits);
  Bounds best{{0, kInfinity}, false, false};
  double finest_failed = 0;
  int stalled = 0;  // meshes that brought nothing, in a row
  // The second direction only matters as far as it is above the first.
  double other_upper = kInfinity;
  for (int i = 0; i < kRefinements; ++i) {
    const double work_before = question.work;
    if (!best.gridded) {  // else by what the mesh before took
      const double left = std::fmax(0, limits.max_grid_work - question.work);
      if (WorkOfMesh(steps, sketch, mesh) > std::fmax(kBeyondLeft * left, kLittleWork)) break;
    }
    question.most_bins = 0;
    const auto attempt = [&]() -> absl::StatusOr<Interval> {
      ASSIGN_OR_RETURN(const Discretised fine,
                       question.Discretise(steps, mesh, tail, estimates[0].tilt, limits));
      Interval found{0, 0};
      const auto bound = [&](const Discretised& on, size_t k,
                             bool below_too) -> absl::StatusOr<Interval> {
        ASSIGN_OR_RETURN(const double upper,
                         question.upper(on.In(directions[k], Side::kUpper), estimates[k]));
        if (!below_too || !(upper > 0)) return Interval{0, upper};
        const absl::StatusOr<double> lower =
            question.lower(on.In(directions[k], Side::kLower), estimates[k], upper);
        // Nothing may be left on a mesh this coarse.
        if (!lower.ok() && !absl::IsResourceExhausted(lower.status())) return lower.status();
        return Interval{lower.value_or(0), upper};
      };
      ASSIGN_OR_RETURN(found, bound(fine, 0, true));
      if (directions.size() > 1 && std::isfinite(found.upper())) {
        double other_lower = 0;
        if (other_upper > found.upper() &&
            question.value(estimates[1]) < kClearlyLess * question.value(estimates[0])) {
          const absl::StatusOr<Discretised> coarse =
              question.Discretise(steps, kCoarser * mesh, tail, estimates[1].tilt, limits);
          if (coarse.ok()) {
            const absl::StatusOr<Interval> other = bound(*coarse, 1, false);
            if (other.ok()) other_upper = std::fmin(other_upper, other->upper());
          }
        }
        if (other_upper > found.upper()) {
          ASSIGN_OR_RETURN(const Interval other, bound(fine, 1, true));
          other_upper = std::fmin(other_upper, other.upper());
          other_lower = other.lower();
        }
        // The guarantee is the worse of the two directions.
        found = {std::fmax(found.lower(), other_lower), std::fmax(found.upper(), other_upper)};
      }
      return found;
    };
    const absl::StatusOr<Interval> found = attempt();
    if (found.ok()) {
      const Interval before = best.value;
      best.gridded = true;
      best.value = Meet(best.value, "pld on coarser meshes", *found, "pld");
      if (!std::isfinite(best.value.upper())) break;  // no mesh changes what is infinite
      const double gap = best.value.RelativeGap();
      if (gap <= relative_gap || best.value.upper() == 0) {
        best.met = true;
        return best;
      }
      // No finer mesh within reach, or the mesh is not what keeps the bounds apart. (Those of pairs
      // that differ stay apart, though a finer mesh may still move each.)
      const bool moved =
          before.upper() - best.value.upper() > 0.5 * relative_gap * best.value.upper();
      stalled = gap > 0.9 * before.RelativeGap() && !moved ? stalled + 1 : 0;
      const bool fine_enough = !(mesh > 1.1 * aim);
      if (i > 0 && stalled > 0 && fine_enough && !IsCutAway(best, question)) break;
      // A tilt that was off makes the window's tails count for more.
      question.window_tail = std::fmax(kLeastWindowTail, 1e-4 * question.window_tail);
      double next = 0;
      if (stalled > 0) {  // the mesh is not what keeps the bounds apart: as fine as the law asks
        next = std::fmin(0.7 * mesh, std::fmax(aim, 0.25 * mesh));
      } else {
        // If the gap is far from what the law says, it may be that of the pairs: half the mesh
        // shows.
        const double finest = i == 0 && gap > 10 * relative_gap ? 0.5 : 0.1;
        next = mesh * std::clamp(0.92 * std::sqrt(relative_gap / gap), finest, 0.7);
      }
      // Atoms and bins are as many as the mesh is fine.
      const double too_fine = std::fmax(
          static_cast<double>(question.most_bins) /
              (0.95 * static_cast<double>(limits.max_fft_bins)),
          (question.work - work_before) / std::fmax(0, limits.max_grid_work - question.work));
      next = std::fmax(next, std::fmax(too_fine * mesh, 1.001 * finest_failed));
      if (!(next <= kWorthIt * mesh)) break;
      mesh = next;
    } else if (absl::IsDeadlineExceeded(found.status()) && best.gridded) {
      break;  // a looser interval, said so, rather than none
    } else if (absl::IsResourceExhausted(found.status())) {
      finest_failed = mesh;
      mesh *= 2;
    } else {
      return found.status();
    }
  }
  best.met = best.value.RelativeGap() <= relative_gap;
  best.gridded &= std::isfinite(best.value.upper()) || best.met;
  return best;
}

}  // namespace dpledger::accountant::pld
