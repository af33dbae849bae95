#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "accountant/mechanism/sampled_curve.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/rdp/allocated_gaussian.h"
#include "accountant/rdp/best_of_runs.h"
#include "accountant/rdp/pair_moment.h"
#include "accountant/rdp/rdp.h"
#include "accountant/rdp/renyi_bound.h"
#include "accountant/rdp/sampled_gaussian.h"

namespace dpledger::accountant::rdp {
namespace {

// The curve of one step, its directions apart.
struct StepCurve {
  std::function<double(double order, Direction)> divergence;
  double failure = 0;
  bool same = false;  // in both directions
};

// One bound for both directions.
template <typename F>
StepCurve Both(F divergence, double failure = 0) {
  return {
      [divergence = std::move(divergence)](double order, Direction) { return divergence(order); },
      failure, true};
}

Curve Infinite() {
  return [](double) { return kInfinity; };
}

// The best of K runs. Failures count apart: none of the K runs fails with probability at least 1 -
// E[K] failure, and then K is drawn with weights (1 - failure)^K, which is the same kind of
// distribution with a smaller mean.
ApproximateCurve SelectionOf(const BestOf& best, const Limits& limits) {
  const ApproximateCurve run = CurveOf(*best.run, limits);
  if (best.mean <= 1 && std::isfinite(best.eta)) return run;  // K = 1
  // What never fails in one run never does: no rounding of 0.
  const double failure = run.failure == 0 ? 0 : std::fmin(1, MulUp(best.mean, run.failure));
  ApproximateCurve result{Infinite(), failure, run.orders};
  if (!(run.failure < 1)) return result;
  const Curve one_run = GivenNoFailure(run);
  absl::StatusOr<Curve> curve =
      std::isfinite(best.eta)
          ? BestOfRuns(one_run, NegativeBinomialTrials{best.eta, best.mean}, limits)
          : BestOfRuns(one_run, PoissonTrials{best.mean}, limits);
  if (curve.ok()) result.curve = *std::move(curve);
  return result;
}

// The curve of a step that each of several compositions dominates; none of them may fail.
StepCurve LeastOf(const std::vector<Composition>& compositions, const Limits& limits) {
  auto curves = std::make_shared<std::vector<ApproximateCurve>>();
  for (const Composition& composition : compositions)
    curves->push_back(CurveOf(composition, limits));
  return {[curves](double order, Direction direction) {
    double least = kInfinity;
    for (const ApproximateCurve& one : *curves) {
      const Curve& directed = direction == Direction::kRemove ? one.remove : one.add;
      least = std::fmin(least, directed != nullptr ? directed(order) : one.curve(order));
    }
    return least;
  }};
}

// What may fail has no curve here.
OrdersCurve CurveOfSample(const SampledRun& sampled, const Limits& limits) {
  const ApproximateCurve run = CurveOf(WithCurvesThatNeverFail(*sampled.run), limits);
  return SampledCurve(SampleOf::kPoisson, sampled.probability,
                      run.failure > 0 ? Infinite() : run.curve);
}

StepCurve StepOf(const RenyiBound& bound, const Limits& limits, std::vector<double>& orders) {
  if (const auto* sampled = std::get_if<SampledRun>(&bound)) {
    return StepOf(RenyiBound(CurveOfSample(*sampled, limits)), limits, orders);
  }
  if (const auto* best = std::get_if<BestOf>(&bound)) {
    ApproximateCurve selection = SelectionOf(*best, limits);
    orders.insert(orders.end(), selection.orders.begin(), selection.orders.end());
    return Both(std::move(selection.curve), selection.failure);
  }
  if (const auto* given = std::get_if<OrdersCurve>(&bound)) {
    orders.insert(orders.end(), given->orders.begin(), given->orders.end());
    return Both([curve = *given](double order) { return Divergence(curve, order); });
  }
  if (const auto* bracket = std::get_if<Bracket>(&bound)) return LeastOf(*bracket->above, limits);
  if (const auto* concentrated = std::get_if<ZeroConcentrated>(&bound)) {
    return Both([curve = *concentrated](double order) { return Divergence(curve, order); });
  }
  return Both(
      [range = std::get<BoundedRange>(bound)](double order) { return Divergence(range, order); });
}

StepCurve StepOf(const PairStep& step, const Limits& limits, std::vector<double>& orders) {
  auto moments = std::make_shared<PairMoments>(step.upper);
  const bool same = step.upper.symmetric;
  StepCurve of_pair{[moments, same](double order, Direction asked) {
                      const Direction direction = same ? Direction::kRemove : asked;
                      // At least α log of p's mass (Hölder): less is a rounding's doing.
                      const double moment =
                          std::fmax(moments->LogMomentUp(direction, order),
                                    order * std::log1p(-InfiniteLoss(moments->pair(), direction)));
                      // A negative moment is made less so by a greater order - 1.
                      return DivUp(moment, moment < 0 ? NextUp(order - 1) : NextDown(order - 1));
                    },
                    std::fmax(InfiniteLoss(step.upper, Direction::kRemove),
                              InfiniteLoss(step.upper, Direction::kAdd)),
                    same};
  if (!step.renyi.has_value()) return of_pair;
  StepCurve of_bound = StepOf(*step.renyi, limits, orders);
  if (of_bound.failure != of_pair.failure) {
    return of_bound.failure < of_pair.failure ? of_bound : of_pair;
  }
  if (of_bound.failure > 0) return of_pair;  // what fails is not the same
  return {[of_bound, of_pair](double order, Direction direction) {
            return std::fmin(of_bound.divergence(order, direction),
                             of_pair.divergence(order, direction));
          },
          0, of_pair.same};
}

StepCurve StepOf(const SampledGaussian& step) {  // remove is the worse direction
  return Both(
      [moments = std::make_shared<SampledGaussianMoments>(
           step.sampling_probability, DivUp(1, step.noise_multiplier.lower()))](double order) {
        return DivUp(moments->LogMomentUp(order), NextDown(order - 1));
      });
}

StepCurve StepOf(const AllocatedGaussian& step) {
  if (step.replaced) {
    return Both([moments = std::make_shared<AllocatedGaussianMoments>(
                     step.rounds, DivUp(0.5, step.noise_multiplier.lower()), step.missing)](
                    double order) { return moments->Replace(order); });
  }
  return {[moments = std::make_shared<AllocatedGaussianMoments>(
               step.rounds, DivUp(1, step.noise_multiplier.lower()), step.missing)](
              double order, Direction direction) {
    return direction == Direction::kRemove ? moments->Remove(order) : moments->Add(order);
  }};
}

// Steps with their counts, as doubles around them.
using CountedSteps = std::vector<std::pair<StepCurve, Interval>>;

// count · log(1 - failure), from below.
double LogSuccess(double failure, uint64_t count) {
  if (failure == 0) return 0;
  return MulDown(NextUp(static_cast<double>(count)),
                 NextDown(NextDown(NextDown(std::log1p(-std::fmin(1, failure))))));
}

}  // namespace

Composition WithCurvesThatNeverFail(Composition composition) {
  std::erase_if(composition.pairs, [&composition](const PairStep& step) {
    if (!step.never_fails.has_value()) return false;
    composition.curves.push_back({*step.never_fails, step.count});
    return true;
  });
  for (CurveStep& step : composition.curves) {
    if (auto* best = std::get_if<BestOf>(&step.renyi))
      best->run = std::make_shared<const Composition>(WithCurvesThatNeverFail(*best->run));
  }
  return composition;
}

ApproximateCurve CurveOf(const Composition& composition, const Limits& limits) {
  if (composition.non_private) return {Infinite()};
  ApproximateCurve result;
  CountedSteps steps;
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
  const bool same = std::all_of(steps.begin(), steps.end(),
                                [](const auto& counted) { return counted.first.same; });
  const auto sum = [steps = std::make_shared<const CountedSteps>(std::move(steps))](
                       double order, Direction direction) {
    double total = 0;
    for (const auto& [step, count] : *steps) {
      const double one = step.divergence(order, direction);
      if (one != 0) total = AddUp(total, MulUp(one < 0 ? count.lower() : count.upper(), one));
    }
    return total;
  };
  if (same) {
    result.curve = [sum](double order) { return sum(order, Direction::kRemove); };
    return result;
  }
  result.remove = [sum](double order) { return sum(order, Direction::kRemove); };
  result.add = [sum](double order) { return sum(order, Direction::kAdd); };
  result.curve = [sum](double order) {
    return std::fmax(sum(order, Direction::kRemove), sum(order, Direction::kAdd));
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
