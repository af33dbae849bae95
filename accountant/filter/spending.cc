// The cost of each kind of step in each kind of filter.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/filter/divergences.h"
#include "accountant/filter/filter.h"
#include "accountant/filter/mixture.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::filter {
namespace {

// The least ε for which all losses of the pair are known to lie in [-ε, ε]; infinite where there
// may be none.
double PureEpsilon(const Pair& pair) {
  double greatest = 0;
  const auto see = [&greatest](double loss, double size) {
    greatest = std::fmax(greatest, std::fabs(loss) + 8 * kUnitRoundoff * (size + std::fabs(loss)));
  };
  for (const Atom& atom : pair.atoms) {
    if (atom.p == 0 || atom.q == 0) return kInfinity;
    see(std::log(atom.p) - std::log(atom.q), std::fabs(std::log(atom.p)));
  }
  for (const DensityPiece& piece : pair.pieces) {
    if (!(std::isfinite(piece.from) && std::isfinite(piece.to))) return kInfinity;
    // The loss does not fall: its ends are its extremes.
    for (const double end : {piece.from, piece.to}) {
      double size = 1;
      for (const auto* terms : {&piece.p, &piece.q}) {
        for (const ExponentialTerm& term : *terms) {
          size += std::fabs(term.log_coefficient) + std::fabs(term.rate * end);
        }
      }
      see(piece.Loss(end), size);
    }
  }
  if (pair.relative_error == 0) return greatest;
  return AddUp(greatest, -2 * LogDown(NextDown(1 - pair.relative_error)));
}

// 1/z², from above: ρ is half of it, μ² all.
double Precision(const Interval& noise_multiplier) {
  return DivUp(1, MulDown(noise_multiplier.lower(), noise_multiplier.lower()));
}

// The filter's measure of one run of each kind of step, in summable units (ρ or μ²); nothing where
// it has none.
class Measure {
 public:
  virtual ~Measure() = default;
  // A Gaussian mechanism of noise multiplier z, sampled or not.
  virtual double OfGaussian(const Interval& z) const = 0;
  virtual double OfPure(double epsilon) const = 0;
  virtual std::optional<double> OfBound(const RenyiBound& bound) const = 0;

 protected:
  // Of the unsampled Gaussians that dominate what it brackets.
  double OfGaussians(const Bracket& bracket) const {
    double sum = 0;
    for (const SampledGaussian& step : bracket.above->back().steps)
      sum = AddUp(sum, OfGaussian(step.noise_multiplier));
    return sum;
  }
};

class Concentrated : public Measure {
 public:
  double OfGaussian(const Interval& z) const override { return Precision(z) / 2; }
  double OfPure(double epsilon) const override { return MulUp(epsilon, epsilon) / 2; }
  std::optional<double> OfBound(const RenyiBound& bound) const override {
    if (const auto* zcdp = std::get_if<ZeroConcentrated>(&bound); zcdp != nullptr && zcdp->xi <= 0)
      return zcdp->rho;
    if (const auto* range = std::get_if<BoundedRange>(&bound))
      return MulUp(range->epsilon, range->epsilon) / 8;
    if (const auto* bracket = std::get_if<Bracket>(&bound)) return OfGaussians(*bracket);
    return std::nullopt;
  }
};

class GaussianSquared : public Measure {
 public:
  double OfGaussian(const Interval& z) const override { return Precision(z); }
  double OfPure(double epsilon) const override {
    const double mu = GaussianOfPure(epsilon);
    return MulUp(mu, mu);
  }
  std::optional<double> OfBound(const RenyiBound& bound) const override {
    // A range of ε holds every loss between -ε and ε, as neither data set's is all on one side.
    if (const auto* range = std::get_if<BoundedRange>(&bound)) return OfPure(range->epsilon);
    if (const auto* bracket = std::get_if<Bracket>(&bound)) return OfGaussians(*bracket);
    return std::nullopt;
  }
};

absl::Status CannotCount(const Filter& filter, const Uncountable& step) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        "filter ", Name(filter), ": ", step.what, " cannot be counted against it (",
                        step.why, "); it is refused, not approximated")),
                    {"FILTER_CANNOT_COUNT", {{"subject", step.what}, {"filter", Name(filter)}}});
}

absl::StatusOr<double> OfPairStep(const Filter& filter, const Measure& measure,
                                  const PairStep& step) {
  double least = kInfinity;
  if (const double pure = PureEpsilon(step.upper); std::isfinite(pure)) {
    least = measure.OfPure(pure);
  }
  for (const auto& curve : {step.renyi, step.never_fails}) {
    if (curve.has_value()) least = std::fmin(least, measure.OfBound(*curve).value_or(kInfinity));
  }
  if (std::isfinite(least)) return least;
  return CannotCount(filter, {"a mechanism known by a pair of distributions",
                              "it is neither Gaussian nor pure epsilon-DP"});
}

absl::StatusOr<double> SumOver(const Filter& filter, const Measure& measure,
                               const Composition& composition) {
  double sum = 0;
  const auto add = [&sum](double one, uint64_t count) {
    if (one > 0) sum = AddUp(sum, MulUp(NextUp(static_cast<double>(count)), one));
  };
  for (const SampledGaussian& step : composition.steps)
    add(measure.OfGaussian(step.noise_multiplier), step.count);
  for (const AllocatedGaussian& step : composition.allocations)
    add(measure.OfGaussian(step.noise_multiplier), step.count);
  for (const PairStep& step : composition.pairs) {
    ASSIGN_OR_RETURN(const double one, OfPairStep(filter, measure, step));
    add(one, step.count);
  }
  for (const CurveStep& step : composition.curves) {
    const std::optional<double> one = measure.OfBound(step.renyi);
    if (!one.has_value()) {
      return CannotCount(filter, {"a mechanism known by a Rényi curve",
                                  "the curve says nothing in the filter's own terms"});
    }
    add(*one, step.count);
  }
  return sum;
}

absl::StatusOr<std::vector<double>> Divergences(const Filter& filter,
                                                const std::vector<double>& orders,
                                                const Composition& composition,
                                                const Limits& limits) {
  ASSIGN_OR_RETURN(auto divergences, DivergencesAt(orders, composition, limits));
  if (const auto* step = std::get_if<Uncountable>(&divergences)) return CannotCount(filter, *step);
  return std::get<std::vector<double>>(std::move(divergences));
}

}  // namespace

double GaussianOfPure(double epsilon) {
  if (!(epsilon > 0)) return 0;
  // x = -Φ⁻¹(1/(1 + e^ε)): log Φ(-x) = -log(1 + e^ε), from below.
  const double target = -(epsilon + std::log1p(std::exp(-epsilon))) * (1 + 8 * kUnitRoundoff);
  const auto above = [target](double x) {
    return LogNormalTail(x) + kNormalTailError * (1 + std::fabs(target)) - target;
  };
  double high = 1;
  while (above(high) > 0 && high < 1e150) high *= 2;
  return NextUp(2 * BracketDecreasing(above, 0, high, 1e-15).second);
}

absl::StatusOr<Uses> UsesOf(const Filter& filter, const Composition& composition,
                            const Limits& limits) {
  const auto* mixture = std::get_if<MixtureFilter>(&filter);
  if (composition.non_private) return Uses(MeasuresOf(filter), kInfinity);
  if (composition.Empty()) return Uses(MeasuresOf(filter), 0);
  if (mixture != nullptr) return Divergences(filter, mixture->orders, composition, limits);
  if (const auto* rdp = std::get_if<RdpFilter>(&filter)) {
    return Divergences(filter, {rdp->order}, composition, limits);
  }
  if (std::holds_alternative<ZcdpFilter>(filter)) {
    ASSIGN_OR_RETURN(const double rho, SumOver(filter, Concentrated(), composition));
    return Uses{rho};
  }
  ASSIGN_OR_RETURN(const double square, SumOver(filter, GaussianSquared(), composition));
  return Uses{square};
}

double SpentBy(const Filter& filter, const Uses& uses) {
  if (*std::max_element(uses.begin(), uses.end()) == 0) return 0;
  if (const auto* mixture = std::get_if<MixtureFilter>(&filter)) {
    return MixtureEpsilon(mixture->orders, uses, mixture->delta);
  }
  return std::holds_alternative<GdpFilter>(filter) ? NextUp(std::sqrt(uses[0])) : uses[0];
}

absl::StatusOr<double> Spent(const Filter& filter, const Composition& composition,
                             const Limits& limits) {
  ASSIGN_OR_RETURN(const Uses uses, UsesOf(filter, composition, limits));
  return SpentBy(filter, uses);
}

absl::StatusOr<double> Odometer(const MixtureFilter& filter, const Composition& composition,
                                const Limits& limits) {
  if (composition.non_private) return kInfinity;
  if (composition.Empty()) return 0;
  ASSIGN_OR_RETURN(const auto divergences, Divergences(filter, filter.orders, composition, limits));
  return MixtureOdometer(filter.orders, divergences, filter.delta);
}

}  // namespace dpledger::accountant::filter
