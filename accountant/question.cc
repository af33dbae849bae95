#include "accountant/question.h"

#include <cmath>

#include "accountant/contour/contour.h"
#include "accountant/gaussian/gaussian.h"
#include "accountant/gaussian/inclusions.h"
#include "accountant/gaussian/sampled_once.h"
#include "accountant/pld/rarely_sampled.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"

namespace dpledger::accountant {

double Question::Delta(double bound) const {
  // A Rényi bound on δ may be some powers of ten too great.
  return std::fmax(1e-280, epsilon() ? at : 1e-4 * bound);
}

std::optional<Interval> Question::Closed(const Composition& composition) const {
  if (gaussian::Applies(composition)) {
    return epsilon() ? gaussian::Epsilon(composition, at) : gaussian::Delta(composition, at);
  }
  if (gaussian::AppliesOnce(composition)) {
    return epsilon() ? gaussian::EpsilonOnce(composition, direction, at)
                     : gaussian::DeltaOnce(composition, direction, at);
  }
  if (epsilon() && composition.OnlyGaussians() && gaussian::TotalVariationUp(composition) <= at)
    return Interval{0, 0};
  return std::nullopt;
}

absl::StatusOr<rdp::Converted> Question::Rdp(const Composition& composition,
                                             const Limits& limits) const {
  const rdp::ApproximateCurve curve = rdp::CurveOf(composition);
  return epsilon() ? rdp::EpsilonFromCurve(curve, at, limits)
                   : rdp::DeltaFromCurve(curve, at, limits);
}

absl::StatusOr<pld::Bounds> Question::Pld(const Composition& composition, double relative_gap,
                                          const Limits& limits, pld::EpochLaws& laws) const {
  return epsilon() ? pld::Epsilon(composition, at, relative_gap, limits, direction, &laws)
                   : pld::Delta(composition, at, relative_gap, limits, direction, &laws);
}

absl::StatusOr<std::optional<Interval>> Question::Rarely(const Composition& composition,
                                                         double relative_gap,
                                                         const Limits& limits) const {
  if (!epsilon()) return std::nullopt;
  return pld::EpsilonOfRarelySampled(direction, composition, at, relative_gap, limits);
}

Answer Question::WithInclusions(const Composition& composition, Answer known) const {
  if (composition.steps.empty() || direction == Direction::kAdd) return known;
  const Interval found = epsilon() ? gaussian::EpsilonByInclusions(composition, at)
                                   : gaussian::DeltaByInclusions(composition, at);
  if (found.upper() < known.value.upper()) known.method = Method::kGaussian;
  known.value = Meet(known.value, MethodName(known.method), found, "inclusions");
  return known;
}

absl::StatusOr<std::optional<Interval>> Question::Contour(const Composition& composition,
                                                          const Limits& limits,
                                                          contour::Effort effort) const {
  if (!contour::Applies(composition)) return std::nullopt;
  return epsilon() ? contour::Epsilon(composition, at, limits, direction, effort)
                   : contour::Delta(composition, at, limits, direction, effort);
}

}  // namespace dpledger::accountant
