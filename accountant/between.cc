#include "accountant/between.h"

#include <algorithm>

#include "accountant/rdp/curve_profile.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// Whether the step's pairs bound it, rather than being what it is.
bool IsLoose(const PairStep& step) {
  return step.renyi.has_value() || (step.lower == Pair::Nothing() && !(step.upper == step.lower));
}

}  // namespace

bool IsExact(const Composition& composition) {
  return composition.curves.empty() &&
         std::none_of(composition.pairs.begin(), composition.pairs.end(), IsLoose);
}

absl::StatusOr<Composition> Above(const Composition& composition, double negligible,
                                  const Limits& limits) {
  ASSIGN_OR_RETURN(Composition above, rdp::WithPairForCurves(composition, negligible, limits));
  for (PairStep& step : above.pairs) {
    if (!IsLoose(step)) continue;
    step.lower = step.upper;
    step.renyi.reset();
  }
  return above;
}

Composition Below(const Composition& composition) {
  Composition below = composition;
  below.curves.clear();
  std::erase_if(below.pairs, [](const PairStep& step) { return step.lower == Pair::Nothing(); });
  for (PairStep& step : below.pairs) {
    if (!IsLoose(step)) continue;
    step.upper = step.lower;
    step.renyi.reset();
  }
  return below;
}

}  // namespace dpledger::accountant
