// Privacy filters: fixed bounds that hold although mechanisms are chosen after looking at outputs,
// as long as the mechanisms run never spend more. Composing the curves of the path that happened is
// an odometer, not a guarantee; the (ε, δ) of the filter's bound is one. Claims: filter/CLAIM.md.
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

// Rényi divergences of several orders at once, under equal weights: the run keeps
// MixtureEpsilon(orders, Σ R_i, delta) <= epsilon, and so is (epsilon, delta)-DP. It needs no order
// that fits the run, and speaks of no smaller delta.
struct MixtureFilter {
  double epsilon;              // > 0
  double delta;                // in (0, 1)
  std::vector<double> orders;  // > 1, ascending, at most 64
  bool operator==(const MixtureFilter&) const = default;
};

using Filter = std::variant<RdpFilter, ZcdpFilter, GdpFilter, MixtureFilter>;

inline constexpr char kMu[] = "mu (gdp)";
// What it bounds: "epsilon of order 8 (rdp)", "rho (zcdp)", kMu, "epsilon at delta 1e-06
// (mixture)".
std::string Name(const Filter& filter);
// epsilon, rho or mu.
double BoundOf(const Filter& filter);
// The method that turns the filter's bound into ε and δ.
Method MethodOf(const Filter& filter);

// What a filter adds up: ρ, μ², or the Rényi divergence of each of its orders. Not negative,
// rounded up; infinite where an order counts for nothing.
using Uses = std::vector<double>;
// How many numbers that are.
size_t MeasuresOf(const Filter& filter);

// What the composition adds: all infinite if it is non-private. FAILED_PRECONDITION (reason
// FILTER_CANNOT_COUNT, naming the step) for a step without a bound in the filter's measure.
absl::StatusOr<Uses> UsesOf(const Filter& filter, const Composition& composition,
                            const Limits& limits);

// The part of the filter that such a sum spends, in the units of BoundOf, rounded up. A run that
// has begun spends the cost of a mixture filter's orders and delta at once; one that has not,
// nothing. It is no guarantee by itself.
double SpentBy(const Filter& filter, const Uses& uses);
// The same of the composition. Errors are those of UsesOf.
absl::StatusOr<double> Spent(const Filter& filter, const Composition& composition,
                             const Limits& limits);

// With a probability of at least 1 - filter.delta over the run's own outputs, at all times, the
// privacy loss of what the composition released is at most this, rounded up, whatever the filter's
// epsilon; infinite for a non-private composition. It bounds the loss of the run that happened, and
// is no differential privacy. Errors are those of Spent.
absl::StatusOr<double> Odometer(const MixtureFilter& filter, const Composition& composition,
                                const Limits& limits);

// EpsilonOf and DeltaOf answer for a bound greater by this share. So a filter can be spent
// completely although Spent rounds up. A mixture filter's spending is no sum of equal parts, which
// could meet its bound exactly: it has no allowance.
inline constexpr double kAllowance = 1e-9;
// Whether `spent` exceeds the bound with its allowance, if it has one.
bool Crossed(const Filter& filter, double spent);
// What is said to be spent: of what is spent to the brim, the bound, as that is its allowance.
double SaidOf(const Filter& filter, double spent);

// The filter that several ledgers are within together, each being within its own.
// FAILED_PRECONDITION (reason FILTERS_DIFFER) unless all are of one kind, and RDP filters of one
// order. Of mixture filters epsilon and delta add, whatever their orders; the sum shows the first
// one's. Precondition: not empty.
absl::StatusOr<Filter> Compose(const std::vector<Filter>& filters);

// ε for a delta in [0, 1), and δ for an epsilon >= 0, of the bound: of the worst composition that
// stays within it. All but GDP give an upper bound only (lower is 0). A mixture filter answers with
// the declared numbers: FAILED_PRECONDITION below them, with reason FILTER_DELTA for a smaller
// delta and FILTER_EPSILON for a smaller epsilon.
absl::StatusOr<Answer> EpsilonOf(const Filter& filter, double delta, const Limits& limits);
absl::StatusOr<Answer> DeltaOf(const Filter& filter, double epsilon, const Limits& limits);

// The least μ that is certain to make every ε-DP mechanism μ-GDP, -2 Φ⁻¹(1/(1 + e^ε)), rounded up.
double GaussianOfPure(double epsilon);

}  // namespace dpledger::accountant::filter
