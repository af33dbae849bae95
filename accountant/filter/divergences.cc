#include "accountant/filter/divergences.h"

#include <algorithm>
#include <cmath>

#include "accountant/numeric/constants.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"

namespace dpledger::accountant::filter {

absl::StatusOr<std::variant<std::vector<double>, Uncountable>> DivergencesAt(
    const std::vector<double>& orders, Composition composition, const Limits& limits) {
  // An epoch is set before its first round, which so spends for all of them: a run that may stop
  // within an epoch for what it saw is no shorter epoch.
  for (AllocatedGaussian& epoch : composition.allocations) epoch.missing = 0;
  // If further epochs make a run another mechanism, the steps so far have no curve of their own.
  // Given the record's rounds they are Gaussians, and withholding these rounds is post-processing.
  for (const AllocatedGaussian& run : composition.allocations)
    if (run.grows) composition.steps.push_back({1, run.noise_multiplier, run.count});
  std::erase_if(composition.allocations, [](const AllocatedGaussian& run) { return run.grows; });
  const rdp::ApproximateCurve curve =
      rdp::CurveOf(rdp::WithCurvesThatNeverFail(std::move(composition)), limits);
  RETURN_IF_ERROR(limits.Check());
  if (curve.failure > 0) {
    return Uncountable{"a mechanism that may fail with a probability delta",
                       "its Rényi divergence is infinite"};
  }
  std::vector<double> divergences;
  for (const double order : orders) {
    const double divergence = curve.curve(order);
    divergences.push_back(std::isnan(divergence) ? kInfinity : std::fmax(0, divergence));
    RETURN_IF_ERROR(limits.Check());
  }
  if (*std::min_element(divergences.begin(), divergences.end()) == kInfinity) {
    return Uncountable{"a mechanism of the ledger",
                       "no finite Rényi divergence of the orders that count is known of it"};
  }
  return divergences;
}

}  // namespace dpledger::accountant::filter
