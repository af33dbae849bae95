#include "accountant/selection/sampled_run.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "accountant/mechanism/composition.h"
#include "accountant/pair/profile_pair.h"
#include "accountant/pair/sampling.h"
#include "accountant/rdp/rdp.h"
#include "accountant/selection/run_profile.h"
#include "base/status.h"

namespace dpledger::accountant::selection {
namespace {

// δ left at infinity, as a share of the δ that matters.
constexpr double kNegligible = 1e-9;
// Chords and tangents of 100 rounds are then a part in 10^4 of ε apart.
constexpr double kNodes = 1536;

// The profile at the lattice, from 0 to where it does not count any more: at least two nodes.
std::vector<ProfileBounds> BoundsOf(RunProfile& run, Direction direction, double last) {
  std::vector<ProfileBounds> bounds;
  for (size_t i = 0; i <= run.last() && run.At(i) < kGreatestProfileEpsilon; ++i) {
    const Interval node = run.Node(direction, i);
    bounds.push_back({run.At(i), node.lower(), node.upper()});
    if (i > 0 && node.upper() <= last) break;
  }
  return bounds;
}

// Whether the profile is the same in both directions.
bool IsSymmetric(const Composition& run) {
  return std::all_of(run.steps.begin(), run.steps.end(),
                     [](const SampledGaussian& step) { return step.sampling_probability == 1; }) &&
         std::all_of(run.pairs.begin(), run.pairs.end(), [](const PairStep& step) {
           return step.upper.symmetric && step.lower.symmetric;
         });
}

std::vector<ProfilePoint> UpperOf(const std::vector<ProfileBounds>& bounds) {
  std::vector<ProfilePoint> points;
  for (const ProfileBounds& at : bounds) points.push_back({at.epsilon, at.upper});
  return points;
}

}  // namespace

absl::StatusOr<PairsAround> PairsOf(const SampledRun& sampled, double delta, const Limits& limits) {
  const double share = std::clamp(delta, 1e-300, 0.5);
  const rdp::ApproximateCurve curve = rdp::CurveOf(*sampled.run, limits);
  ASSIGN_OR_RETURN(const rdp::Converted near, rdp::EpsilonFromCurve(curve, share, limits));
  RunProfile run(*sampled.run, std::clamp(near.value, 1e-6, kGreatestProfileEpsilon), share, limits,
                 kNodes);
  const double last = kNegligible * share;
  const std::vector<ProfileBounds> remove = BoundsOf(run, Direction::kRemove, last);
  const std::vector<ProfileBounds> add =
      IsSymmetric(*sampled.run) ? remove : BoundsOf(run, Direction::kAdd, last);
  RETURN_IF_ERROR(run.stopped());
  const Pair upper = PairOfProfile(UpperOf(remove), UpperOf(add));
  const Pair lower =
      PairOfProfile(PointsBelow(remove, add), PointsBelow(add, remove), Bound::kLower);
  return PairsAround{PoissonSampledPair(sampled.probability, upper),
                     PoissonSampledPair(sampled.probability, lower)};
}

}  // namespace dpledger::accountant::selection
