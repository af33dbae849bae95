// Descriptions of a Rényi curve: upper bounds R(α) on a mechanism's Rényi divergence of every order
// α > 1, in both directions. Values only; rdp/ evaluates them. Of some more is known than the
// curve.
#pragma once

#include <memory>
#include <variant>
#include <vector>

namespace dpledger::accountant {

struct Composition;

// R(α) <= xi + rho·α (Bun and Steinke 2016, def. 8.1).
struct ZeroConcentrated {
  double rho, xi;
  bool operator==(const ZeroConcentrated&) const = default;
};

// R(orders[i]) <= epsilons[i]; orders > 1, increasing. Between them (α - 1) R(α) is convex; past
// the last it may be infinite.
struct OrdersCurve {
  std::vector<double> orders, epsilons;
  bool operator==(const OrdersCurve&) const = default;
};

// A mechanism whose privacy loss has a range of at most epsilon: the exponential mechanism (Dong,
// Durfee, Rogers 2020, arXiv 1909.13830, def. 3).
struct BoundedRange {
  double epsilon;
  bool operator==(const BoundedRange&) const = default;
};

// The best of K runs of one composition, K drawn from a truncated negative binomial (eta finite) or
// a Poisson distribution (eta infinite).
struct BestOf {
  std::shared_ptr<const Composition> run;
  double eta;   // > -1
  double mean;  // of K
};

// One run of a composition of steps and pairs on a Poisson sample of the records: all of it sees
// the same sample.
struct SampledRun {
  std::shared_ptr<const Composition> run;  // without curves and allocations
  double probability;                      // in (0, 1)
};

// A mechanism that each of `above` dominates by itself (which is the tightest depends on the
// question), and that dominates `below`. `above` is not empty, its last one unsampled Gaussians
// alone; none of them has curves, or more of one step than one.
struct Bracket {
  std::shared_ptr<const std::vector<Composition>> above;
  std::shared_ptr<const Composition> below;
};

using RenyiBound =
    std::variant<ZeroConcentrated, OrdersCurve, BoundedRange, BestOf, SampledRun, Bracket>;

}  // namespace dpledger::accountant
