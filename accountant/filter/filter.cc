#include "accountant/filter/filter.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/accountant.h"
#include "accountant/gaussian/gaussian.h"
#include "accountant/numeric/rounding.h"
#include "accountant/rdp/conversion.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"

namespace dpledger::accountant::filter {
namespace {

constexpr char kNoLowerBound[] = "rdp gives no lower bound";

double WithAllowance(double bound) { return MulUp(bound, 1 + kAllowance); }

rdp::ApproximateCurve CurveOfBound(const ZcdpFilter& filter) {
  return {[rho = WithAllowance(filter.rho)](double order) { return MulUp(rho, order); }};
}

// One Gaussian mechanism with this μ.
Composition GaussianOfBound(const GdpFilter& filter) {
  Composition composition;
  composition.steps.push_back({1, {DivDown(1, WithAllowance(filter.mu)), DivUp(1, filter.mu)}, 1});
  return composition;
}

// The error for an epsilon or a delta about which a mixture filter says nothing.
absl::Status Below(const char* reason, const char* field, double declared, double asked) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          field, ": must be at least ", declared, ", got ", asked,
          ": a mixture filter holds at the epsilon and the delta that were declared; no theorem "
          "gives another pair")),
      {reason, {{"field", field}, {"declared", absl::StrCat(declared)}}});
}

Answer UpperBound(double value, Method method) { return {{0, value}, method, {kNoLowerBound}}; }

}  // namespace

std::string Name(const Filter& filter) {
  if (const auto* rdp = std::get_if<RdpFilter>(&filter))
    return absl::StrCat("epsilon of order ", rdp->order, " (rdp)");
  if (const auto* mixture = std::get_if<MixtureFilter>(&filter))
    return absl::StrCat("epsilon at delta ", mixture->delta, " (mixture)");
  return std::holds_alternative<ZcdpFilter>(filter) ? "rho (zcdp)" : kMu;
}

size_t MeasuresOf(const Filter& filter) {
  const auto* mixture = std::get_if<MixtureFilter>(&filter);
  return mixture == nullptr ? 1 : mixture->orders.size();
}

double BoundOf(const Filter& filter) {
  if (const auto* rdp = std::get_if<RdpFilter>(&filter)) return rdp->epsilon;
  if (const auto* zcdp = std::get_if<ZcdpFilter>(&filter)) return zcdp->rho;
  if (const auto* mixture = std::get_if<MixtureFilter>(&filter)) return mixture->epsilon;
  return std::get<GdpFilter>(filter).mu;
}

Method MethodOf(const Filter& filter) {
  return std::holds_alternative<GdpFilter>(filter) ? Method::kGaussian : Method::kRdp;
}

bool Crossed(const Filter& filter, double spent) {
  if (std::holds_alternative<MixtureFilter>(filter)) return !(spent <= BoundOf(filter));
  return !(spent <= WithAllowance(BoundOf(filter)) * (1 - 4 * kUnitRoundoff));
}

double SaidOf(const Filter& filter, double spent) {
  return Crossed(filter, spent) ? spent : std::fmin(spent, BoundOf(filter));
}

absl::StatusOr<Filter> Compose(const std::vector<Filter>& filters) {
  Filter total = filters.front();
  for (size_t i = 1; i < filters.size(); ++i) {
    const Filter& other = filters[i];
    auto* rdp = std::get_if<RdpFilter>(&total);
    const auto* other_rdp = std::get_if<RdpFilter>(&other);
    if (total.index() != other.index() || (rdp != nullptr && rdp->order != other_rdp->order)) {
      return WithReason(absl::FailedPreconditionError(
                            absl::StrCat("filters ", Name(total), " and ", Name(other),
                                         " have no common bound: ledgers with filters are composed "
                                         "if all are zcdp, all gdp, all mixture, or all rdp at one "
                                         "order")),
                        {"FILTERS_DIFFER", {{"field", "declaration.filter"}}});
    }
    if (rdp != nullptr) {
      rdp->epsilon = AddUp(rdp->epsilon, other_rdp->epsilon);
    } else if (auto* zcdp = std::get_if<ZcdpFilter>(&total)) {
      zcdp->rho = AddUp(zcdp->rho, std::get<ZcdpFilter>(other).rho);
    } else if (auto* mixture = std::get_if<MixtureFilter>(&total)) {
      const auto& other_mixture = std::get<MixtureFilter>(other);
      mixture->epsilon = AddUp(mixture->epsilon, other_mixture.epsilon);
      mixture->delta = AddUp(mixture->delta, other_mixture.delta);
    } else {
      double& mu = std::get<GdpFilter>(total).mu;
      mu = NextUp(NextUp(NextUp(std::hypot(mu, std::get<GdpFilter>(other).mu))));
    }
  }
  return total;
}

absl::StatusOr<Answer> EpsilonOf(const Filter& filter, double delta, const Limits& limits) {
  RETURN_IF_ERROR(CheckArithmetic());
  if (!(delta >= 0 && delta < 1))
    return FieldError("delta", absl::StrCat("must be in [0, 1), got ", delta));
  if (const auto* mixture = std::get_if<MixtureFilter>(&filter)) {
    if (delta < mixture->delta) return Below("FILTER_DELTA", "delta", mixture->delta, delta);
    return UpperBound(mixture->epsilon, Method::kRdp);
  }
  // The worst composition within a bound of any other kind is a Gaussian.
  if (delta == 0) return UpperBound(std::numeric_limits<double>::infinity(), MethodOf(filter));
  if (const auto* rdp = std::get_if<RdpFilter>(&filter)) {
    const double epsilon =
        rdp::EpsilonAt(WithAllowance(rdp->epsilon), rdp->order, LogDown(delta), 0);
    return UpperBound(std::fmax(0, epsilon), Method::kRdp);
  }
  if (const auto* zcdp = std::get_if<ZcdpFilter>(&filter)) {
    ASSIGN_OR_RETURN(const rdp::Converted converted,
                     rdp::EpsilonFromCurve(CurveOfBound(*zcdp), delta, limits));
    return UpperBound(converted.value, Method::kRdp);
  }
  return Answer{gaussian::Epsilon(GaussianOfBound(std::get<GdpFilter>(filter)), delta),
                Method::kGaussian,
                {}};
}

absl::StatusOr<Answer> DeltaOf(const Filter& filter, double epsilon, const Limits& limits) {
  RETURN_IF_ERROR(CheckArithmetic());
  if (!(epsilon >= 0 && std::isfinite(epsilon)))
    return FieldError("epsilon", absl::StrCat("must be finite and >= 0, got ", epsilon));
  if (const auto* mixture = std::get_if<MixtureFilter>(&filter)) {
    if (epsilon < mixture->epsilon)
      return Below("FILTER_EPSILON", "epsilon", mixture->epsilon, epsilon);
    return UpperBound(std::fmin(1, mixture->delta), Method::kRdp);
  }
  if (const auto* rdp = std::get_if<RdpFilter>(&filter)) {
    const double log_delta = rdp::LogDeltaAt(WithAllowance(rdp->epsilon), rdp->order, epsilon, 0);
    return UpperBound(std::fmin(1, ExpUp(log_delta)), Method::kRdp);
  }
  if (const auto* zcdp = std::get_if<ZcdpFilter>(&filter)) {
    ASSIGN_OR_RETURN(const rdp::Converted converted,
                     rdp::DeltaFromCurve(CurveOfBound(*zcdp), epsilon, limits));
    return UpperBound(converted.value, Method::kRdp);
  }
  return Answer{gaussian::Delta(GaussianOfBound(std::get<GdpFilter>(filter)), epsilon),
                Method::kGaussian,
                {}};
}

}  // namespace dpledger::accountant::filter
