// Privacy filters: bounds that hold when mechanisms are chosen after looking at outputs, as long as
// what is spent on every path stays within them. Composing the curves of the path that happened is
// an odometer and no guarantee; what a filter's bound costs is. Claims: filter/CLAIM.md.
//
// Values and pure functions; thread safe.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::filter {

// Rényi divergences of one order, fixed in advance, sum to at most epsilon.
struct RdpFilter {
  double order;    // > 1
  double epsilon;  // > 0
  bool operator==(const RdpFilter&) const = default;
};
// Zero-concentrated: Σ ρ_i <= rho.
struct ZcdpFilter {
  double rho;  // > 0
  bool operator==(const ZcdpFilter&) const = default;
};
// Gaussian: Σ μ_i² <= mu².
struct GdpFilter {
  double mu;  // > 0
  bool operator==(const GdpFilter&) const = default;
};

using Filter = std::variant<RdpFilter, ZcdpFilter, GdpFilter>;

// "rdp at order 8", "zcdp", "gdp".
std::string Name(const Filter& filter);
// epsilon, rho or mu.
double BoundOf(const Filter& filter);
// The method that the number of a filter comes from.
Method MethodOf(const Filter& filter);

// What the composition spends of the filter, in the units of BoundOf, rounded up; infinite for
// what is not private at all. It is no guarantee by itself. FAILED_PRECONDITION (reason
// FILTER_CANNOT_COUNT, naming the step) for a step that the filter has no measure of.
absl::StatusOr<double> Spent(const Filter& filter, const Composition& composition,
                             const Limits& limits);

// The numbers below are those of a bound greater by this share, so that a filter can be filled to
// the brim although what is spent is rounded up.
inline constexpr double kAllowance = 1e-9;
// `spent` is more than the bound and its allowance.
bool Crossed(const Filter& filter, double spent);

// What holds of several ledgers, each within its own filter. FAILED_PRECONDITION (reason
// FILTERS_DIFFER) unless all are of one kind, and RDP filters of one order. Precondition: not
// empty.
absl::StatusOr<Filter> Compose(const std::vector<Filter>& filters);

// ε for a delta in (0, 1), and δ for an epsilon >= 0, of the bound itself: of the worst that can
// stay within it. RDP and zCDP give an upper bound only (lower is 0).
absl::StatusOr<Answer> EpsilonOf(const Filter& filter, double delta, const Limits& limits);
absl::StatusOr<Answer> DeltaOf(const Filter& filter, double epsilon, const Limits& limits);

// The least μ that is certain to make every ε-DP mechanism μ-GDP, -2 Φ⁻¹(1/(1 + e^ε)), rounded up.
double GaussianOfPure(double epsilon);

}  // namespace dpledger::accountant::filter
