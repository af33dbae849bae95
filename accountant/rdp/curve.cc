#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "accountant/numeric/rounding.h"
#include "accountant/rdp/pair_moment.h"
#include "accountant/rdp/rdp.h"
#include "accountant/rdp/renyi_bound.h"
#include "accountant/rdp/sampled_gaussian.h"
#include "accountant/selection/selection.h"

namespace dpledger::accountant::rdp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Bounds on the divergence of one order.
struct Divergences {
  double remove, add;
};

// The curve of one step, its directions apart.
struct StepCurve {
  std::function<Divergences(double order)> divergence;
  double failure = 0;
};

// One bound for both directions.
template <typename F>
StepCurve Both(F divergence, double failure = 0) {
  return {[divergence = std::move(divergence)](double order) {
            const double value = divergence(order);
            return Divergences{value, value};
          },
          failure};
}

Curve Infinite() {
  return [](double) { return kInfinity; };
}

// The best of K runs. What may fail in one run is apart: none of the K does with probability at
// least 1 - E[K] failure, and then K is drawn with weights (1 - failure)^K, which is the same kind
// of distribution with a smaller mean.
ApproximateCurve SelectionOf(const BestOf& best, const Limits& limits) {
  const ApproximateCurve run = CurveOf(*best.run, limits);
  if (best.mean <= 1 && std::isfinite(best.eta)) return run;  // K = 1
  ApproximateCurve result{Infinite(), std::fmin(1, MulUp(best.mean, run.failure)), run.orders};
  if (!(run.failure < 1)) return result;
  const Curve one_run = GivenNoFailure(run);
  absl::StatusOr<Curve> curve =
      std::isfinite(best.eta)
          ? selection::SelectionCurve(one_run, NegativeBinomialTrials{best.eta, best.mean}, limits)
          : selection::SelectionCurve(one_run, PoissonTrials{best.mean}, limits);
  if (curve.ok()) result.curve = *std::move(curve);
  return result;
}

StepCurve StepOf(const RenyiBound& bound, const Limits& limits, std::vector<double>& orders) {
  if (const auto* best = std::get_if<BestOf>(&bound)) {
    ApproximateCurve selection = SelectionOf(*best, limits);
    orders.insert(orders.end(), selection.orders.begin(), selection.orders.end());
    return Both(std::move(selection.curve), selection.failure);
  }
  if (const auto* given = std::get_if<OrdersCurve>(&bound)) {
    orders.insert(orders.end(), given->orders.begin(), given->orders.end());
    return Both([curve = *given](double order) { return Divergence(curve, order); });
  }
  if (const auto* concentrated = std::get_if<ZeroConcentrated>(&bound)) {
    return Both([curve = *concentrated](double order) { return Divergence(curve, order); });
  }
  return Both(
      [range = std::get<BoundedRange>(bound)](double order) { return Divergence(range, order); });
}

StepCurve StepOf(const PairStep& step, const Limits& limits, std::vector<double>& orders) {
  auto pair = std::make_shared<const Pair>(step.upper);
  StepCurve of_pair{
      [pair](double order) {
        const auto divergence = [&](Direction direction) {
          const double moment = LogPairMomentUp(*pair, direction, order);
          // A negative moment is made less so by a greater order - 1.
          return DivUp(moment, moment < 0 ? NextUp(order - 1) : NextDown(order - 1));
        };
        const double remove = divergence(Direction::kRemove);
        return Divergences{remove, pair->symmetric ? remove : divergence(Direction::kAdd)};
      },
      std::fmax(InfiniteLoss(*pair, Direction::kRemove), InfiniteLoss(*pair, Direction::kAdd))};
  if (!step.renyi.has_value()) return of_pair;
  StepCurve of_bound = StepOf(*step.renyi, limits, orders);
  if (of_bound.failure != of_pair.failure) {
    return of_bound.failure < of_pair.failure ? of_bound : of_pair;
  }
  if (of_bound.failure > 0) return of_pair;  // what fails is not the same
  return {[of_bound, of_pair](double order) {
    const Divergences a = of_bound.divergence(order), b = of_pair.divergence(order);
    return Divergences{std::fmin(a.remove, b.remove), std::fmin(a.add, b.add)};
  }};
}

StepCurve StepOf(const SampledGaussian& step) {
  return Both([q = step.sampling_probability,
               mu = DivUp(1, step.noise_multiplier.lower)](double order) {  // remove is the worse
    return DivUp(LogMomentUp(q, mu, order), NextDown(order - 1));
  });
}

// Given the round that a record is in, its epoch is one Gaussian mechanism; mixing over the rounds,
// the same for both data sets, adds nothing (joint quasi-convexity: van Erven, Harremoës 2014, thm.
// 13).
StepCurve StepOf(const AllocatedGaussian& step) {
  return Both(
      [z = step.noise_multiplier.lower](double order) { return DivUp(order / 2, MulDown(z, z)); });
}

// count · log(1 - failure), from below.
double LogSuccess(double failure, uint64_t count) {
  if (failure == 0) return 0;
  return MulDown(NextUp(static_cast<double>(count)),
                 NextDown(NextDown(NextDown(std::log1p(-std::fmin(1, failure))))));
}

}  // namespace

ApproximateCurve CurveOf(const Composition& composition, const Limits& limits) {
  if (composition.non_private) return {Infinite()};
  ApproximateCurve result;
  std::vector<std::pair<StepCurve, Interval>> steps;  // with its count as doubles around it
  double log_success = 0;
  const auto add = [&](StepCurve step, uint64_t count) {
    if (step.failure > 0) log_success = AddDown(log_success, LogSuccess(step.failure, count));
    const double near = static_cast<double>(count);
    steps.emplace_back(std::move(step), Interval{NextDown(near), NextUp(near)});
  };
  for (const SampledGaussian& step : composition.steps) add(StepOf(step), step.count);
  for (const PairStep& step : composition.pairs)
    add(StepOf(step, limits, result.orders), step.count);
  for (const AllocatedGaussian& step : composition.allocations) add(StepOf(step), step.count);
  for (const CurveStep& step : composition.curves)
    add(StepOf(step.renyi, limits, result.orders), step.count);
  if (log_success < 0) {
    result.failure = std::fmin(1, NextUp(NextUp(NextUp(-std::expm1(log_success)))));
  }
  result.curve = [steps = std::move(steps)](double order) {
    double removed = 0, added = 0;
    const auto times = [](const Interval& count, double one) {
      return one == 0 ? 0 : MulUp(one < 0 ? count.lower : count.upper, one);
    };
    for (const auto& [step, count] : steps) {
      const Divergences one = step.divergence(order);
      removed = AddUp(removed, times(count, one.remove));
      added = AddUp(added, times(count, one.add));
    }
    return std::fmax(removed, added);
  };
  return result;
}

Curve GivenNoFailure(const ApproximateCurve& approximate) {
  if (approximate.failure == 0) return approximate.curve;
  if (!(approximate.failure < 1)) return Infinite();
  const double log_success = NextDown(NextDown(std::log1p(-approximate.failure)));
  return [curve = approximate.curve, log_success](double order) {
    return std::fmax(0, AddUp(curve(order), DivUp(MulUp(order, -log_success), order - 1)));
  };
}

}  // namespace dpledger::accountant::rdp
