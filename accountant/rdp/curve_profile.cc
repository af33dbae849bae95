#include "accountant/rdp/curve_profile.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pair/profile_pair.h"
#include "accountant/rdp/conversion.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"

namespace dpledger::accountant::rdp {
namespace {

// δ at the points is that of a Gaussian's tail, from this many standard deviations below its mean,
// this far apart: a chord between two points adds about a 5000th to a Gaussian curve's variance.
constexpr double kFirstTail = -4, kTailStep = 0.05;
// Orders α: log(α - 1) between the same ends as rdp.cc's, so far apart that the best one misses the
// least ε by a part in 10^5.
constexpr double kFirstOrder = -7, kLastOrder = 14, kOrderStep = 0.02;

// ε for falling δ. Every order gives a bound; the search keeps to the one that was best before, as
// the best order grows while δ falls.
class Descent {
 public:
  explicit Descent(const ApproximateCurve& curve)
      : curve_(curve.curve), failure_(curve.failure), orders_(curve.orders) {
    for (double at = kFirstOrder; at < kLastOrder; at += kOrderStep)
      orders_.push_back(1 + std::exp(at));
    std::sort(orders_.begin(), orders_.end());
    divergences_.resize(orders_.size(), -1);
  }

  // The least ε found with δ(ε) <= failure + e^{log_delta}; may be infinite.
  double EpsilonAt(double log_delta) {
    double best = ByOrder(best_, log_delta);
    // With nothing to go by, look everywhere.
    if (!std::isfinite(best) || first_) {
      first_ = false;
      for (size_t i = 0; i < orders_.size(); i += kStride) Improve(i, log_delta, best);
    }
    for (size_t stride = kStride; stride > 0; stride /= 2) {
      for (bool better = true; better;) {
        const size_t here = best_;
        better = (here + stride < orders_.size() && Improve(here + stride, log_delta, best)) ||
                 (here >= stride && Improve(here - stride, log_delta, best));
      }
    }
    return best;
  }

 private:
  static constexpr size_t kStride = 16;

  double ByOrder(size_t i, double log_delta) {
    double& divergence = divergences_[i];
    if (divergence == -1) divergence = curve_(orders_[i]);
    const double epsilon = rdp::EpsilonAt(divergence, orders_[i], log_delta, failure_);
    return std::isnan(epsilon) ? kInfinity : epsilon;
  }
  bool Improve(size_t i, double log_delta, double& best) {
    const double epsilon = ByOrder(i, log_delta);
    if (!(epsilon < best)) return false;
    best = epsilon;
    best_ = i;
    return true;
  }

  Curve curve_;
  double failure_;
  std::vector<double> orders_, divergences_;  // -1: not yet asked for
  size_t best_ = 0;
  bool first_ = true;
};

absl::StatusOr<std::vector<ProfilePoint>> Profile(const ApproximateCurve& curve, double negligible,
                                                  const Limits& limits) {
  Descent descent(curve);
  std::vector<ProfilePoint> points;
  const double last = std::log(negligible);
  for (double tail = kFirstTail;; tail += kTailStep) {
    RETURN_IF_ERROR(limits.Check());
    const double log_delta = LogNormalTail(tail);
    const double epsilon = descent.EpsilonAt(log_delta);
    if (epsilon > kGreatestProfileEpsilon || log_delta < last) break;
    const double delta = AddUp(curve.failure, ExpUp(log_delta));
    if (delta < 1) points.push_back({std::fmax(0, epsilon), delta});
  }
  // The points with the same ε say what the last of them says.
  std::vector<ProfilePoint> ascending;
  for (const ProfilePoint& point : points) {
    while (!ascending.empty() && ascending.back().epsilon >= point.epsilon) ascending.pop_back();
    ascending.push_back(point);
  }
  return ascending;
}

}  // namespace

absl::StatusOr<Composition> WithPairForCurves(const Composition& composition, double negligible,
                                              const Limits& limits) {
  if (composition.curves.empty()) return composition;
  Composition only_curves, result = composition;
  only_curves.curves = std::exchange(result.curves, {});
  const ApproximateCurve curve = CurveOf(only_curves, limits);
  // A step known by a curve alone has one curve for both directions.
  ASSIGN_OR_RETURN(const std::vector<ProfilePoint> points, Profile(curve, negligible, limits));
  Pair pair = PairOfProfile(points, points);
  pair.symmetric = true;
  result.pairs.push_back({std::move(pair), Pair::Nothing(), std::nullopt, 1});
  return result;
}

}  // namespace dpledger::accountant::rdp
