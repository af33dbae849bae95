#include "accountant/between.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "accountant/mechanism/outcome_parts.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pair/pairs.h"
#include "accountant/pair/profile_pair.h"
#include "accountant/pld/pld.h"
#include "accountant/rdp/curve_profile.h"
#include "accountant/rdp/rdp.h"
#include "accountant/recursion/bounded_range.h"
#include "accountant/recursion/fixed_size.h"
#include "accountant/selection/chosen_profile.h"
#include "accountant/selection/sampled_run.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

constexpr double kNegligible = 1e-9;
// The greatest rho of a Gaussian that stands for a guarantee from below: more is out of every
// method's reach.
constexpr double kGreatestRho = 1e9;
// Of one on a sample: its loss must not be beyond the grid.
constexpr double kGreatestSampledRho = 50;
constexpr uint64_t kGreatestCount = uint64_t{1} << 53;

// Whether two pairs are made alike, and so may be one pair but for rounding.
bool AreMadeAlike(const Pair& a, const Pair& b) {
  return a.atoms.size() == b.atoms.size() &&
         std::equal(a.pieces.begin(), a.pieces.end(), b.pieces.begin(), b.pieces.end(),
                    [](const DensityPiece& x, const DensityPiece& y) {
                      return x.p.size() == y.p.size() && x.q.size() == y.q.size();
                    });
}

// Whether the step's pairs bound it, rather than being what it is. No bound rests on this: it
// decides whether both are asked at once or each by itself.
bool IsLoose(const PairStep& step) {
  return step.renyi.has_value() || step.sampled.has_value() ||
         !AreMadeAlike(step.upper, step.lower);
}

// In place of pairs the sampled Gaussians that they are: the contour has these.
void TakeSampled(Bound bound, Composition& composition) {
  for (const PairStep& step : composition.pairs) {
    if (!step.sampled.has_value()) continue;
    const Interval& q = step.sampled->sampling_probability;
    composition.steps.push_back({bound == Bound::kUpper ? q.upper() : q.lower(),
                                 step.sampled->noise_multiplier, step.count});
  }
  std::erase_if(composition.pairs, [](const PairStep& step) { return step.sampled.has_value(); });
}

// The selection that a step is, if it has a pair.
const BestOf* SelectionOf(const CurveStep& step) {
  const auto* best = std::get_if<BestOf>(&step.renyi);
  return best != nullptr && selection::HasPair(*best) ? best : nullptr;
}

// A noisy maximum with Laplace noise: it may be of bounded range, and is not.
bool IsLooseChoice(const PairStep& step) {
  return step.choice.has_value() && step.choice->noise == TwoCandidates::Noise::kGumbel &&
         step.choice->sampled == 1 && !step.renyi.has_value();
}

// Whether more is known of a step from above than its curve.
bool HasMore(const CurveStep& step) {
  return SelectionOf(step) != nullptr || std::holds_alternative<Bracket>(step.renyi);
}

// `count` runs of each step.
Composition Times(uint64_t count, Composition one) {
  for (SampledGaussian& step : one.steps) step.count = count;
  for (AllocatedGaussian& step : one.allocations) step.count = count;
  return one;
}

// The one of a bracket's compositions that says most at `delta` for `count` runs: those of about
// the least ε by their Rényi curves are asked again by pld. A choice among bounds, no bound itself.
absl::StatusOr<Composition> Tightest(const std::vector<Composition>& above, uint64_t count,
                                     double delta, const Limits& limits) {
  constexpr double kAbout = 1.1, kGap = 3e-3;
  const double share = std::clamp(delta, 1e-290, 0.5);
  std::vector<std::pair<double, Composition>> all;  // by ε
  double least = std::numeric_limits<double>::infinity();
  for (const Composition& one : above) {
    Composition runs = Times(count, one);
    ASSIGN_OR_RETURN(const auto by_rdp,
                     rdp::EpsilonFromCurve(rdp::CurveOf(runs, limits), share, limits));
    least = std::fmin(least, by_rdp.value);
    all.emplace_back(by_rdp.value, std::move(runs));
  }
  std::erase_if(all, [&](const auto& one) { return one.first > kAbout * least; });
  if (all.empty()) return Times(count, above.back());
  for (auto& [epsilon, runs] : all) {
    const auto by_pld = pld::Epsilon(runs, share, kGap, limits);
    if (by_pld.ok()) epsilon = by_pld->value.upper();
  }
  return std::min_element(all.begin(), all.end(),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

// The lower bounds of `count` runs of a composition. Too many of a step are left out.
void AddRuns(const Composition& run, uint64_t count, Composition& below) {
  const auto runs = [count](const auto& step) {
    return step.count <= kGreatestCount / count ? step.count * count : 0;
  };
  for (SampledGaussian step : run.steps) {
    step.count = runs(step);
    const auto same = std::find_if(below.steps.begin(), below.steps.end(), [&](const auto& other) {
      return other.sampling_probability == step.sampling_probability &&
             other.noise_multiplier.lower() == step.noise_multiplier.lower() &&
             other.noise_multiplier.upper() == step.noise_multiplier.upper();
    });
    if (same != below.steps.end()) {
      same->count += step.count;
    } else if (step.count > 0) {
      below.steps.push_back(step);
    }
  }
  for (PairStep step : run.pairs) {
    step.count = runs(step);
    if (step.count > 0) below.pairs.push_back(std::move(step));
  }
  for (AllocatedGaussian step : run.allocations) {
    step.count = runs(step);
    if (step.count > 0) below.allocations.push_back(step);
  }
}

struct Runs {
  uint64_t count;
  double probability;  // of at least so many, at least
};

// The number of `count` selections that make a run. The output shows whether the Poisson number of
// a selection is 0, and that does not depend on the data. Either all make a run, or at least three
// deviations fewer than the mean (Cantelli).
Runs RunsOf(const BestOf& best, uint64_t count) {
  constexpr double kWorthAll = 0.1, kRounding = 1e-9;
  if (std::isfinite(best.eta)) return {count, 1};
  const auto selections = static_cast<double>(count);
  const double some = -std::expm1(-best.mean);
  const double log_some = best.mean > 1 ? std::log1p(-std::exp(-best.mean)) : std::log(some);
  const double all = std::exp(selections * log_some) - kRounding;
  if (all >= kWorthAll) return {count, all};
  const double few = selections * (some - 8 * kUnitRoundoff) -
                     3 * std::sqrt(selections * some * std::exp(-best.mean)) - 1;
  return {few >= 1 ? static_cast<uint64_t>(few) : 0, 0.9 - kRounding};
}

// With a constant score the best of one or more runs is one run.
void AddSelections(const BestOf& best, uint64_t count, double order, LowerPart& below) {
  const LowerPart run = Below(*best.run, order);
  const Runs runs = RunsOf(best, count);
  if (runs.count == 0 || run.share < 1) {
    below.leaves_out_curves = true;
    return;
  }
  AddRuns(run.dominated, runs.count, below.dominated);
  below.share *= runs.probability;
  below.leaves_out_curves |= run.leaves_out_curves;
}

// In place of a pair for every run, one pair for all of them, chosen one after the other; where
// that takes too long, their curve.
absl::Status Tighten(double negligible, const Limits& limits, PairStep& step,
                     std::vector<CurveStep>& curves) {
  const auto* range = std::get_if<BoundedRange>(&*step.renyi);
  if (range == nullptr || step.count == 1) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<ProfilePoint> profile,
                   BoundedRangeProfile(range->epsilon, step.count, negligible, limits));
  if (profile.empty()) {
    curves.push_back({*std::exchange(step.renyi, std::nullopt), std::exchange(step.count, 0)});
    return absl::OkStatus();
  }
  step.upper = PairOfProfile(profile, profile);
  step.upper.symmetric = true;
  step.count = 1;
  return absl::OkStatus();
}

// The share of a question's work that blocks of rounds may take, all kinds of rounds together, and
// of δ that they may put at infinity: a part in 10^5 of ε.
constexpr double kShareOfBlocks = 0.4, kNegligibleInBlocks = 1e-4;

}  // namespace

bool IsExact(const Composition& composition) {
  return composition.curves.empty() &&
         std::none_of(composition.pairs.begin(), composition.pairs.end(), IsLoose);
}

bool IsCurvesAlone(const Composition& composition) {
  return composition.steps.empty() && composition.pairs.empty() &&
         composition.allocations.empty() &&
         std::all_of(composition.curves.begin(), composition.curves.end(),
                     [](const CurveStep& step) { return !HasMore(step); });
}

absl::StatusOr<Composition> WithPairsOfSamples(const Composition& composition, double delta,
                                               const Limits& limits) {
  Composition result = composition;
  result.curves.clear();
  for (const CurveStep& step : composition.curves) {
    const auto* sampled = std::get_if<SampledRun>(&step.renyi);
    if (sampled == nullptr) {
      result.curves.push_back(step);
      continue;
    }
    ASSIGN_OR_RETURN(selection::PairsAround pairs, selection::PairsOf(*sampled, delta, limits));
    result.pairs.push_back(
        {std::move(pairs.upper), std::move(pairs.lower), std::nullopt, step.count});
  }
  return result;
}

absl::StatusOr<Composition> Above(const Composition& composition, double delta,
                                  const Limits& limits) {
  Composition above = composition;
  TakeSampled(Bound::kUpper, above);
  above.curves.clear();
  for (const CurveStep& step : composition.curves) {
    if (const auto* bracket = std::get_if<Bracket>(&step.renyi)) {
      ASSIGN_OR_RETURN(const Composition one, Tightest(*bracket->above, step.count, delta, limits));
      AddRuns(one, 1, above);
      continue;
    }
    const BestOf* const best = SelectionOf(step);
    if (best == nullptr) {
      above.curves.push_back(step);
      continue;
    }
    ASSIGN_OR_RETURN(Pair pair, selection::PairOf(*best, delta, limits));
    above.pairs.push_back({pair, std::move(pair), std::nullopt, step.count});
  }
  const auto has_curve = [](const PairStep& step) { return step.renyi.has_value(); };
  Limits shared = limits;
  shared.max_grid_work /= std::fmax(
      1, static_cast<double>(std::count_if(above.pairs.begin(), above.pairs.end(), has_curve)));
  for (PairStep& step : above.pairs) {
    if (has_curve(step)) RETURN_IF_ERROR(Tighten(kNegligible * delta, shared, step, above.curves));
  }
  std::erase_if(above.pairs, [](const PairStep& step) { return step.count == 0; });
  ASSIGN_OR_RETURN(above, rdp::WithPairForCurves(above, kNegligible * delta, limits));
  for (PairStep& step : above.pairs) {
    if (!IsLoose(step)) continue;
    step.lower = step.upper;
    step.renyi.reset();
  }
  return above;
}

absl::StatusOr<std::optional<Composition>> InBlocks(const Composition& above, double delta,
                                                    const Limits& limits) {
  const auto kinds = static_cast<double>(
      std::count_if(above.pairs.begin(), above.pairs.end(),
                    [](const PairStep& step) { return step.fixed_size.has_value(); }));
  if (kinds == 0) return std::nullopt;
  Composition result = above;
  result.pairs.clear();
  bool any = false;
  for (const PairStep& step : above.pairs) {
    std::vector<Block> blocks;
    if (step.fixed_size.has_value()) {
      ASSIGN_OR_RETURN(blocks,
                       BlocksOf(*step.fixed_size, step.count, kNegligibleInBlocks * delta / kinds,
                                kShareOfBlocks * limits.max_grid_work / kinds, limits));
    }
    any |= !blocks.empty();
    if (blocks.empty()) result.pairs.push_back(step);
    for (Block& block : blocks)
      result.pairs.push_back({block.pair, std::move(block.pair), std::nullopt, block.count});
  }
  if (!any) return std::nullopt;
  return result;
}

bool HasLooseChoices(const Composition& composition) {
  return std::any_of(composition.pairs.begin(), composition.pairs.end(), IsLooseChoice);
}

Composition WithCurvesOfChoices(Composition composition) {
  for (PairStep& step : composition.pairs) {
    if (IsLooseChoice(step)) step.renyi = BoundedRange{step.choice->epsilon};
  }
  return composition;
}

LowerPart Below(const Composition& composition, double order) {
  LowerPart below{.dominated = composition};
  Composition& all = below.dominated;
  TakeSampled(Bound::kLower, all);
  all.curves.clear();
  double rho = 0;
  for (const CurveStep& step : composition.curves) {
    const auto* best = std::get_if<BestOf>(&step.renyi);
    const auto* bracket = std::get_if<Bracket>(&step.renyi);
    if (step.rho > 0 && step.share < 1) {
      const double z =
          NextUp(NextUp(NextUp(std::sqrt(0.5 / std::fmin(step.rho, kGreatestSampledRho)))));
      if (step.share > 0) all.steps.push_back({step.share, {z, z}, step.count});
    } else if (step.rho > 0) {
      rho = NextDown(rho + MulDown(static_cast<double>(step.count), step.rho));
    } else if (bracket != nullptr) {
      AddRuns(*bracket->below, step.count, all);
    } else if (best != nullptr) {
      AddSelections(*best, step.count, order, below);
    } else {
      below.leaves_out_curves = true;
    }
  }
  if (rho > 0) {
    rho = std::fmin(rho, kGreatestRho);
    // As many runs, as the loss of each must not be beyond the grid.
    const double runs = std::ceil(rho), z = NextUp(NextUp(NextUp(std::sqrt(0.5 * runs / rho))));
    all.steps.push_back({1, {z, z}, static_cast<uint64_t>(runs)});
  }
  std::erase_if(all.pairs, [](const PairStep& step) { return step.lower == Pair::Nothing(); });
  std::erase_if(all.allocations, [](const AllocatedGaussian& step) {
    return std::isinf(step.noise_multiplier.upper());
  });
  for (PairStep& step : all.pairs) {
    if (!IsLoose(step)) continue;
    if (step.choice.has_value())
      step.lower = PairOf(*step.choice, MostTelling(*step.choice, order));
    if (step.parts != nullptr && step.parts->pair() != nullptr) step.lower = *step.parts->pair();
    step.upper = step.lower;
    step.renyi.reset();
  }
  return below;
}

std::vector<LowerPart> PartsBelow(const Composition& composition, LowerPart below, double order) {
  std::vector<LowerPart> parts;
  if (below.share < 1) {
    Composition others = composition;
    std::erase_if(others.curves,
                  [](const CurveStep& step) { return std::holds_alternative<BestOf>(step.renyi); });
    below = Below(others, order);
    if (!below.dominated.Empty()) parts.push_back(below);
  }
  const Composition& of = below.dominated;
  const auto add = [&](const auto& change) {
    parts.push_back(below);
    change(parts.back().dominated);
  };
  const size_t kinds = of.steps.size() + of.pairs.size() + of.allocations.size();
  if (kinds <= 1) return parts;
  if (!of.allocations.empty()) add([](Composition& part) { part.allocations.clear(); });
  const auto alone = [&](auto list, const auto& step) {
    add([&](Composition& part) {
      part.steps.clear();
      part.pairs.clear();
      part.allocations.clear();
      (part.*list).push_back(step);
    });
  };
  for (const SampledGaussian& step : of.steps) alone(&Composition::steps, step);
  for (const PairStep& step : of.pairs) alone(&Composition::pairs, step);
  for (const AllocatedGaussian& step : of.allocations) alone(&Composition::allocations, step);
  return parts;
}

}  // namespace dpledger::accountant
