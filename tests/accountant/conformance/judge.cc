#include "tests/accountant/conformance/judge.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "accountant/accountant.h"
#include "accountant/profile/profile.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"

namespace dpledger::accountant::conformance {
namespace {

constexpr double kRounding = 1e-6;

absl::StatusOr<Interval> Ask(const ReferenceCase& reference, const Composition& composition,
                             const Options& options) {
  switch (reference.quantity) {
    case Quantity::kEpsilon: {
      ASSIGN_OR_RETURN(const Answer answer, ComputeEpsilon(composition, reference.given, options));
      return answer.value;
    }
    case Quantity::kDelta: {
      ASSIGN_OR_RETURN(const Answer answer, ComputeDelta(composition, reference.given, options));
      return answer.value;
    }
    case Quantity::kTruePositiveRate: {
      ASSIGN_OR_RETURN(const profile::TradeOff curve,
                       profile::ComputeTradeOff(composition, {reference.given}, options));
      const Interval& type_two = curve.points.front().symmetric;
      return Interval{1 - type_two.upper(), 1 - type_two.lower()};
    }
    case Quantity::kRenyiDivergence: {
      const rdp::ApproximateCurve curve = rdp::CurveOf(composition);
      if (curve.failure > 0) return Interval{};
      return Interval{0, curve.curve(reference.given)};
    }
  }
  return absl::InternalError("unknown quantity");
}

std::string Numbers(const Interval& ours, const Interval& theirs) {
  return absl::StrCat("ours [", ours.lower(), ", ", ours.upper(), "], theirs [", theirs.lower(),
                      ", ", theirs.upper(), "]");
}

bool Above(double a, double b) { return a > b * (1 + kRounding); }

}  // namespace

absl::StatusOr<Interval> Judge::Best(const ReferenceCase& reference, const Composition& composition,
                                     double relative_gap) {
  const std::string key =
      absl::StrCat(absl::StrJoin(reference.events, "\n"), AdjacencyName(reference.adjacency),
                   static_cast<int>(reference.quantity), " ",
                   absl::StrFormat("%.17g", reference.given), " ", relative_gap);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  Options options;
  options.relative_gap = relative_gap;
  return known_.emplace(key, Ask(reference, composition, options)).first->second;
}

Judgement Judge::operator()(const ReferenceCase& reference) {
  const absl::StatusOr<Composition> composition = Compose(reference);
  if (!composition.ok()) {
    const bool refused = absl::IsFailedPrecondition(composition.status());
    return {refused ? Verdict::kRefused : Verdict::kFailed, composition.status().ToString()};
  }
  const Interval& theirs = reference.theirs;
  // A finer answer is asked for only where the coarse one leaves the question open.
  for (const double gap : {1e-3, 1e-5, 1e-7}) {
    const absl::StatusOr<Interval> best = Best(reference, *composition, gap);
    if (!best.ok()) {
      const bool refused = absl::IsFailedPrecondition(best.status());
      return {refused ? Verdict::kRefused : Verdict::kFailed, best.status().ToString()};
    }
    const std::string numbers = Numbers(*best, theirs);
    if (Above(best->lower(), theirs.upper())) return {Verdict::kTheyAreBelow, numbers};
    if (Above(theirs.lower(), best->upper())) return {Verdict::kTheyAreAbove, numbers};
    if (reference.by_renyi) break;
    if (!Above(best->upper(), theirs.upper())) return {Verdict::kAgrees, numbers};
    if (gap == 1e-7) return {Verdict::kWeAreLooser, numbers};
  }
  Options options;
  options.method = Method::kRdp;
  const absl::StatusOr<Interval> rdp = Ask(reference, *composition, options);
  if (!rdp.ok()) {
    const bool refused = absl::IsFailedPrecondition(rdp.status());
    return {refused ? Verdict::kRefused : Verdict::kFailed, rdp.status().ToString()};
  }
  return {Above(rdp->upper(), theirs.upper()) ? Verdict::kWeAreLooser : Verdict::kAgrees,
          Numbers(*rdp, theirs)};
}

}  // namespace dpledger::accountant::conformance
