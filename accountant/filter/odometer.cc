#include "accountant/filter/odometer.h"

#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/filter/divergences.h"
#include "accountant/filter/mixture.h"
#include "accountant/mechanism/greatest_loss.h"
#include "accountant/numeric/constants.h"
#include "base/status.h"

namespace dpledger::accountant::filter {
namespace {

const std::vector<double>& Orders() {
  static const std::vector<double> orders(std::begin(kOdometerOrders), std::end(kOdometerOrders));
  return orders;
}

absl::StatusOr<std::vector<double>> CountedDivergences(const Composition& composition,
                                                       const Limits& limits) {
  RETURN_IF_ERROR(CheckArithmetic());
  ASSIGN_OR_RETURN(auto divergences, DivergencesAt(Orders(), composition, limits));
  if (const auto* step = std::get_if<Uncountable>(&divergences)) {
    return WithReason(absl::FailedPreconditionError(
                          absl::StrCat("odometer: ", step->what, " cannot be counted by it (",
                                       step->why, "); it is refused, not approximated")),
                      {"ODOMETER_CANNOT_COUNT", {{"subject", step->what}}});
  }
  return std::get<std::vector<double>>(std::move(divergences));
}

Answer UpperBound(double value) {
  return {{0, value}, Method::kRdp, {"an odometer gives no lower bound"}};
}

}  // namespace

absl::StatusOr<Answer> OdometerEpsilon(const Composition& composition, double delta,
                                       const Limits& limits) {
  if (!(delta >= 0 && delta < 1))
    return FieldError("delta", absl::StrCat("must be in [0, 1), got ", delta));
  if (composition.non_private) return UpperBound(kInfinity);
  if (composition.Empty()) return UpperBound(0);
  ASSIGN_OR_RETURN(const std::vector<double> divergences, CountedDivergences(composition, limits));
  const double certain = GreatestLoss(composition, std::nullopt).upper();
  if (delta == 0) return UpperBound(certain);
  return UpperBound(std::fmin(certain, MixtureOdometer(Orders(), divergences, delta)));
}

absl::StatusOr<Answer> OdometerDelta(const Composition& composition, double epsilon,
                                     const Limits& limits) {
  if (!(epsilon >= 0 && std::isfinite(epsilon)))
    return FieldError("epsilon", absl::StrCat("must be finite and >= 0, got ", epsilon));
  if (composition.non_private) return UpperBound(1);
  if (composition.Empty()) return UpperBound(0);
  ASSIGN_OR_RETURN(const std::vector<double> divergences, CountedDivergences(composition, limits));
  if (epsilon >= GreatestLoss(composition, std::nullopt).upper()) return UpperBound(0);
  return UpperBound(MixtureOdometerDelta(Orders(), divergences, epsilon));
}

}  // namespace dpledger::accountant::filter
