#include "accountant/contour/laid_line.h"

#include <algorithm>
#include <cmath>

#include "accountant/contour/line.h"
#include "accountant/numeric/normal.h"
#include "base/status.h"

namespace dpledger::accountant::contour {
namespace {

// The most lines that are laid: one more while the last one shows that ε is elsewhere.
constexpr int kLines = 3;
// The relative gap at or below which no further one is tried.
constexpr double kGoodGap = 1e-9;

// The line's order: above 0, or between -1 and 0, where it sums 1 - δ.
enum class Order { kPositive, kNegative };

absl::StatusOr<std::optional<Interval>> Lay(Order side, Tilting& tilting, double delta,
                                            double& order) {
  const bool negative = side == Order::kNegative;
  // Less where less is allowed than a question may take.
  const double work =
      Line::kGreatestWork * std::fmin(1, tilting.limits().max_jump_work / Limits().max_jump_work);
  Saddle saddle =
      negative ? tilting.ForRest(std::log(1 - delta)) : tilting.ForDelta(std::log(delta), order);
  double epsilon = saddle.Epsilon();
  if (delta > 0.5 && !negative) {
    // The saddle's estimate of δ says little there; the loss is about normal.
    const Saddle middle = tilting.At(1e-3 * saddle.c);
    epsilon = middle.mean - std::sqrt(middle.variance) * NormalTailInverse(1 - delta);
    saddle = tilting.ForEpsilon(std::fmax(0, epsilon), saddle.c);
  }
  std::optional<Interval> best;
  for (int i = 0; i < kLines; ++i) {
    RETURN_IF_ERROR(tilting.stopped());
    if (!std::isfinite(epsilon)) break;
    if (epsilon < 0 || i > 0) {
      epsilon = std::fmax(0, epsilon);
      saddle = negative ? tilting.ForEpsilonBelow(epsilon) : tilting.ForEpsilon(epsilon, saddle.c);
    }
    ASSIGN_OR_RETURN(std::optional<Line> line,
                     Line::Through(tilting, saddle, epsilon, Line::kShare, work));
    if (!line.has_value()) break;
    if (!negative) order = saddle.c;
    const std::optional<Interval> found = line->EpsilonAt(delta, epsilon);
    const bool narrower =
        found.has_value() && (!best.has_value() || found->RelativeGap() < best->RelativeGap());
    if (narrower) best = found;
    if (best.has_value() && (best->RelativeGap() <= kGoodGap || !narrower)) break;
  }
  if (best.has_value() && best->RelativeGap() > kUsefulGap) best.reset();
  return best;
}

bool IsGaussian(const Step& step) { return step.pair == nullptr; }

}  // namespace

absl::StatusOr<std::optional<Interval>> EpsilonOnLine(Tilting& tilting, double delta,
                                                      double& order) {
  const std::vector<Step>& steps = tilting.steps();
  if (delta > 0.5 && std::all_of(steps.begin(), steps.end(), IsGaussian)) {
    ASSIGN_OR_RETURN(const std::optional<Interval> laid,
                     Lay(Order::kNegative, tilting, delta, order));
    if (laid.has_value()) return laid;
  }
  return Lay(Order::kPositive, tilting, delta, order);
}

}  // namespace dpledger::accountant::contour
