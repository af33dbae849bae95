#include "accountant/selection/chosen_profile.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "accountant/mechanism/composition.h"
#include "accountant/mechanism/trials.h"
#include "accountant/pair/profile_pair.h"
#include "accountant/rdp/rdp.h"
#include "accountant/selection/run_profile.h"
#include "accountant/selection/selection_profile.h"
#include "base/status.h"

namespace dpledger::accountant::selection {
namespace {

// δ left at infinity, as a share of the δ that matters.
constexpr double kNegligible = 1e-9;
// A chord's excess in ε is spacing²(c + 1)/8 for a profile that falls as e^{-cε}: with c near 15
// over one run's ε, 1e-4 of it. Beyond four times that ε the points are farther apart, as the tail
// matters less and less. A cell adds less than that.
constexpr double kPointsInOneRun = 128, kGrowth = 1.02, kCell = 0.03;
constexpr size_t kMostPoints = 1200;

// The factor by which both are coarser if less work is allowed than a question may take.
double Coarseness(const Limits& limits) {
  return std::clamp(std::pow(Limits().max_grid_work / limits.max_grid_work, 0.25), 1.0, 3.0);
}

Trials TrialsOf(const BestOf& best) {
  if (std::isfinite(best.eta)) return NegativeBinomialTrials{best.eta, best.mean};
  return PoissonTrials{best.mean};
}

std::vector<ProfilePoint> PointsOf(const SelectionProfile& profile, double one_run, double last,
                                   double coarseness) {
  std::vector<ProfilePoint> points;
  double step = one_run * coarseness / kPointsInOneRun;
  for (double epsilon = 0; epsilon < kGreatestProfileEpsilon && points.size() < kMostPoints;
       epsilon += step) {
    points.push_back({epsilon, profile.DeltaUp(epsilon)});
    if (points.back().delta <= last) break;
    if (epsilon > 4 * one_run) step *= std::pow(kGrowth, coarseness);
  }
  return points;
}

}  // namespace

bool HasPair(const BestOf& best) {
  return RunProfile::Applies(*best.run) && TrialLaw::Of(TrialsOf(best)).InReach();
}

absl::StatusOr<Pair> PairOf(const BestOf& best, double delta, const Limits& limits) {
  // Every run has a part of δ; there its profile matters.
  const double share = std::fmax(delta / std::fmax(1, best.mean), 1e-300);
  const rdp::ApproximateCurve curve = rdp::CurveOf(*best.run, limits);
  ASSIGN_OR_RETURN(const rdp::Converted near, rdp::EpsilonFromCurve(curve, share, limits));
  const double one_run = std::fmin(std::fmax(near.value, 1e-6), kGreatestProfileEpsilon);
  RunProfile run(*best.run, one_run, share, limits);
  const TrialLaw law = TrialLaw::Of(TrialsOf(best));
  const double last = kNegligible * delta, coarseness = Coarseness(limits);
  std::vector<ProfilePoint> points[2];
  for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
    std::vector<ProfilePoint>& in = points[direction == Direction::kAdd];
    if (direction == Direction::kAdd && run.symmetric()) {
      in = points[0];
    } else {
      const SelectionProfile profile(law, direction, run, last, kCell * coarseness);
      in = PointsOf(profile, one_run, last, coarseness);
    }
    RETURN_IF_ERROR(run.stopped());
  }
  Pair pair = PairOfProfile(std::move(points[0]), std::move(points[1]));
  pair.symmetric = run.symmetric();
  return pair;
}

}  // namespace dpledger::accountant::selection
