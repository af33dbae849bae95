#include "accountant/selection/selection_profile.h"

#include <algorithm>
#include <cmath>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::selection {
namespace {

constexpr size_t kGreatestCells = 40000;
// A relative change of g to the end, below which g(1) says as much as a cell would.
constexpr double kNearlyLast = 1e-3;
constexpr double kLeastRest = 1e-9;
// The part of δ below which the bounds need no digits.
constexpr double kNegligible = 1e-7;
// Shares that change g by less than this are as nothing.
constexpr double kSeen = 1e-6;
// Losses whose exponentials are not looked at.
constexpr double kGreatestLoss = 600;
// Places in the order that the lower bound tries, and the sets after them: each smaller by a ratio,
// down to a share of the δ below which nothing is asked. A nearer one has a δ that is greater by
// some parts in 10^4.
constexpr size_t kPlaces = 192;
constexpr double kSetRatio = 0.98, kLeastSet = 1e-3;
// Relative slack that covers Decay's error and the arithmetic of slopes.
constexpr double kSlopeSlack = 1e-8;

Direction Opposite(Direction direction) {
  return direction == Direction::kRemove ? Direction::kAdd : Direction::kRemove;
}

// The lines e^s x + δ'(s) above h, from steep to flat. For s < 0 the line is, in 1 - x, that of
// e^{-t} (rest - δ(t)) with t = -s, from the profile of the direction itself.
class Lines {
 public:
  Lines(RunProfile& run, Direction direction, const TrialLaw& law) : run_(run), own_(direction) {
    // Steeper lines change g by less than can be seen.
    const double enough = kSeen / law.Decay(Share::At(0));
    steepest_ = 0;
    while (steepest_ < run_.last() && run_.At(steepest_ + 1) < kGreatestLoss &&
           run_.Node(Opposite(own_), steepest_).upper() > enough) {
      ++steepest_;
    }
    flattest_ = 0;
    while (flattest_ < run_.last() && run_.At(flattest_ + 1) < kGreatestLoss) ++flattest_;
  }

  // Line k at a share, rounded up (and its distance to 1 down). k <= last().
  Share At(size_t k, const Share& x) const {
    if (k <= steepest_) {
      const size_t node = steepest_ - k;
      const double s = run_.At(node);
      const double up = AddUp(MulUp(ExpUp(s), x.x), run_.Node(Opposite(own_), node).upper());
      return {up, NextDown(1 - up)};
    }
    const size_t node = k - steepest_;
    const double t = run_.At(node);
    const double down = MulDown(ExpDown(-t), AddDown(x.rest, -run_.Node(own_, node).upper()));
    return {NextUp(1 - down), down};
  }
  double Slope(size_t k) const {
    return std::exp(k <= steepest_ ? run_.At(steepest_ - k) : -run_.At(k - steepest_));
  }
  size_t last() const { return steepest_ + flattest_; }

  // The line that is lowest at x, looked for from `from` on: h is concave, so they come in order.
  size_t Lowest(const Share& x, size_t from) const {
    Share best = At(from, x);
    while (from < last()) {
      const Share next = At(from + 1, x);
      if (!(best.x < 0.5 ? next.x < best.x : next.rest > best.rest)) break;
      best = next;
      ++from;
    }
    return from;
  }

 private:
  RunProfile& run_;
  Direction own_;
  size_t steepest_;  // node
  size_t flattest_;  // node of the direction itself
};

// The greatest share of the second distribution's that a set with a share x of the first's can
// have, from below: min over λ of λx + δ'(log λ), with δ' between nodes above the continuation of
// the chord of the next two. In λ < 1 for the distance to 1, as in Lines.
class LeastShare {
 public:
  // Values of δ' and δ below these are not looked at.
  LeastShare(RunProfile& run, Direction direction, double enough_opposite, double enough) {
    const auto fill = [&](std::vector<Candidate>& candidates, Direction of, double sign,
                          double floor) {
      Interval node = run.Node(of, 0), next = run.Node(of, 1);
      for (size_t i = 0; i + 2 < run.last(); ++i) {
        const double at = run.At(i), step = run.At(i + 1) - at, after_step = run.At(i + 2) - at;
        const Interval after = run.Node(of, i + 2);
        // In λ = e^at the chord of nodes i + 1 and i + 2 goes on to node i. For sign < 0 the convex
        // function of λ = e^-at is λδ, here divided by this λ.
        const double share = std::exp(-sign * step) * std::expm1(sign * step) /
                             std::expm1(sign * (after_step - step));
        const double scale_next = sign > 0 ? 1 : std::exp(-step);
        const double scale_after = sign > 0 ? 1 : std::exp(-after_step);
        const double bound = scale_next * next.lower() +
                             (scale_next * next.lower() - scale_after * after.upper()) * share;
        const double below = std::fmax(sign > 0 ? next.lower() : 0, bound * (1 - 1e-9));
        candidates.push_back(
            {std::exp(sign * at) * (1 - 1e-14 * (1 + at)), std::fmin(node.lower(), below)});
        if (node.lower() <= floor || run.At(i + 1) > kGreatestLoss) break;
        node = next;
        next = after;
      }
    };
    const Direction opposite =
        direction == Direction::kRemove ? Direction::kAdd : Direction::kRemove;
    fill(steep_, opposite, 1, enough_opposite);
    fill(flat_, direction, -1, enough);
  }

  Share At(const Share& x) const {
    double least = kInfinity, rest = 0;
    for (const Candidate& line : steep_) {
      least = std::fmin(least, line.factor * x.x + line.delta);
    }
    // Past the last node δ' may vanish.
    least = std::fmin(least, steep_.back().factor * x.x) * (1 - 1e-14);
    for (const Candidate& line : flat_) {
      rest = std::fmax(rest, line.factor * (x.rest - line.delta));
    }
    rest = std::fmax(rest, flat_.back().factor * x.rest) * (1 + 1e-9);
    return 1 - least > rest ? Share{std::fmin(1, least), std::fmax(0, NextUp(1 - least))}
                            : Share{std::fmax(0, NextDown(1 - rest)), std::fmin(1, rest)};
  }

 private:
  struct Candidate {
    double factor, delta;
  };
  std::vector<Candidate> steep_, flat_;
};

// x grown by `step`, measured from the end that is nearer.
Share Moved(const Share& from, double step) {
  return from.x < 0.5 ? Share::At(from.x + step) : Share::FromTop(from.rest - step);
}
double Distance(const Share& from, const Share& to) {
  return from.x < 0.5 && to.x < 0.5 ? to.x - from.x : from.rest - to.rest;
}

// A line a - bR of the family whose supremum is V.
struct Affine {
  double b, a;
  Share at;
};

// Sorts lines a - bR by b, then a.
template <typename Line>
void Sort(std::vector<Line>& lines) {
  std::sort(lines.begin(), lines.end(), [](const Line& one, const Line& other) {
    return one.b != other.b ? one.b < other.b : one.a < other.a;
  });
}
// Lines come sorted. Keeps those that are the greatest for some R > 0: the upper hull of their
// points (b, a), as seen from below the right.
template <typename Line>
void AddToHull(const Line& line, std::vector<Line>& hull) {
  if (!hull.empty() && line.a <= hull.back().a) return;
  while (hull.size() > 1 &&
         (hull.back().a - hull[hull.size() - 2].a) * (line.b - hull.back().b) <=
             (line.a - hull.back().a) * (hull.back().b - hull[hull.size() - 2].b)) {
    hull.pop_back();
  }
  hull.push_back(line);
}

}  // namespace

SelectionProfile::SelectionProfile(const TrialLaw& law, Direction direction, RunProfile& run,
                                   double negligible_delta, double cell)
    : run_(run), direction_(direction), law_(law), negligible_delta_(negligible_delta) {
  const Lines lines(run, direction, law);
  const double log_negligible = std::log(negligible_delta);
  std::vector<Affine> affine;
  Share at = Share::At(0);
  size_t line = 0;
  double weight = law.WeightUp(at);
  for (size_t i = 0; i < kGreatestCells; ++i) {
    if (law.LogWeight(at).value < log_negligible || at.rest < kLeastRest) break;
    if (law.Decay(Share{1, 0}) * at.rest < kNearlyLast) break;
    line = lines.Lowest(at, line);
    const Share above = lines.At(line, at);
    // 1. The step over which g, g(h) and the share itself change by a share `cell` at most: a chord
    // and a tangent then add its square over eight.
    const double log_ratio =
        law.LogWeight(at).value - (above.rest > 0 ? law.LogWeight(above).value : -kInfinity);
    double step = cell / law.Decay(at);
    if (above.rest > 0) {
      step = std::fmin(
          step, cell * std::fmax(1, 0.2 * log_ratio) / (law.Decay(above) * lines.Slope(line)));
    }
    const double first = cell / law.Decay(Share::At(0));
    step = std::fmin(step, cell * std::fmin(first + at.x, at.rest));
    if (!(step > 0)) break;
    // 2. The cell: g below its chord, g(h) above a tangent of g along one line, or above its end.
    const Share end = Moved(at, step), middle = Moved(at, step / 2);
    line = lines.Lowest(middle, line);
    const double weight_end = law.WeightUp(end);
    const Share above_middle = lines.At(line, middle), above_end = lines.At(line, end);
    const double slope = above_middle.rest > 0 ? law.Decay(above_middle) * lines.Slope(line) : 0;
    if (above_end.rest > 0 && slope * Distance(middle, end) < 0.5) {
      const double tangent = law.WeightDown(above_middle);
      const double at_start =
          1 + slope * (1 - kSlopeSlack) * Distance(at, middle) - 4 * kUnitRoundoff;
      const double at_end =
          1 - slope * (1 + kSlopeSlack) * Distance(middle, end) - 4 * kUnitRoundoff;
      affine.push_back({MulDown(tangent, at_start), weight, at});
      affine.push_back({MulDown(tangent, at_end), weight_end, end});
    } else {
      const Share ended = above_end.rest > 0 ? above_end : Share{1, 0};
      affine.push_back({law.WeightDown(ended), weight, at});
    }
    at = end;
    weight = weight_end;
  }
  // 3. The rest of the way: g below where it stands, g(h) above g(1).
  affine.push_back({law.WeightDown(Share{1, 0}), weight, at});

  // 4. V is the supremum of these lines.
  Sort(affine);
  std::vector<Affine> hull = {{0, 0, Share{1, 0}}};
  for (const Affine& one : affine) {
    if (one.b > 0) {
      AddToHull(one, hull);
    } else {
      hull.front().a = std::fmax(hull.front().a, one.a);
    }
  }
  // Each point that the test drops may have been above by 6u of it.
  const double slack = 1 + 8 * kUnitRoundoff * static_cast<double>(affine.size());
  always_ = hull.front().a * slack;
  for (size_t i = 1; i < hull.size(); ++i) {
    const double rise = hull[i].a - hull[i - 1].a, run_length = hull[i].b - hull[i - 1].b;
    terms_.push_back({rise * slack, LogUp(DivUp(NextUp(rise), NextDown(run_length)))});
  }
  std::reverse(terms_.begin(), terms_.end());

  // 5. The places at which the bound is made are those to try for the other one.
  const size_t places = std::min(kPlaces, hull.size());
  for (size_t i = 0; i < places; ++i) places_.push_back(hull[i * hull.size() / places].at);
}

// Results of least loss come before the place, those of greatest loss after it.
std::vector<SelectionProfile::Shown> SelectionProfile::ShownAtPlaces() const {
  const double enough = kSeen / law_.Decay(Share::At(0)), floor = 1e4 * negligible_delta_;
  const LeastShare second(run_, direction_, enough, floor);
  const LeastShare first(run_, Opposite(direction_), floor / law_.WeightUp(Share::At(0)), enough);
  std::vector<std::pair<double, double>> sets;  // of the second's mass, and the least of the first
  for (double mass = 1; mass > floor * kLeastSet; mass *= kSetRatio)
    sets.emplace_back(mass, first.At(Share::At(mass)).x);
  std::vector<Shown> all, greatest;
  for (const Share& place : places_) {
    const Share least = second.At(place);
    if (!(place.rest > 0 && least.rest > 0)) continue;
    for (const auto& [mass, first_mass] : sets) {
      all.push_back({ExpDown(law_.LogSelected(place, std::fmin(first_mass, place.rest)).down()),
                     ExpUp(law_.LogSelected(least, std::fmin(mass, least.rest)).up())});
    }
  }
  Sort(all);
  for (const Shown& one : all) AddToHull(one, greatest);
  return greatest;
}

double SelectionProfile::DeltaUp(double epsilon) const {
  double sum = always_;
  for (const Term& term : terms_) {
    sum += term.weight * run_.Up(direction_, AddDown(epsilon, -term.shift));
  }
  return std::fmin(1, sum * (1 + 4 * kUnitRoundoff * static_cast<double>(terms_.size() + 2)));
}

double SelectionProfile::DeltaDown(double epsilon) {
  if (!shown_.has_value()) shown_ = ShownAtPlaces();
  double greatest = 0;
  const double factor = ExpUp(epsilon);
  for (const Shown& shown : *shown_)
    greatest = std::fmax(greatest, AddDown(shown.a, -MulUp(factor, shown.b)));
  return greatest;
}

namespace {

// The least ε found, not below `from`, at which the upper bound is at most delta.
double UpperEpsilon(const SelectionProfile& best, RunProfile& run, double delta, double from) {
  const double log_delta = LogDown(delta);
  const auto too_much = [&](double e) { return std::log(best.DeltaUp(e)) - log_delta; };
  if (too_much(from) <= 0) return from;
  double below = from, step = std::fmax(run.At(1), 0.2 * best.greatest_shift());
  double reach = below + step;
  while (too_much(reach) > 0) {
    if (reach > 1e6 || !run.stopped().ok()) return kInfinity;
    below = reach;
    step *= 1.5;
    reach += step;
  }
  return BracketDecreasing(too_much, below, reach, 1e-9).second;
}

// The greatest ε found in (least, upper) at which the lower bound is above delta.
double LowerEpsilon(SelectionProfile& best, double delta, double least, double upper) {
  const double log_delta = LogUp(delta);
  const auto surely_more = [&](double e) { return std::log(best.DeltaDown(e)) - log_delta; };
  // The lower bound is near the upper one, and useless far from it.
  for (double share = 0.99; share > 0.2 && std::isfinite(upper); share *= share) {
    if (share * upper <= least) break;
    if (surely_more(share * upper) > 0) {
      return BracketDecreasing(surely_more, share * upper, upper, 1e-6).first;
    }
  }
  return least;
}

std::vector<Direction> DirectionsOf(const RunProfile& run) {
  if (run.symmetric()) return {Direction::kRemove};
  return {Direction::kRemove, Direction::kAdd};
}

}  // namespace

absl::StatusOr<Interval> SelectionEpsilon(const TrialLaw& law, RunProfile& run, double delta,
                                          double least) {
  if (!law.InReach()) return Interval{least, kInfinity};
  Interval worst{least, least};
  for (const Direction direction : DirectionsOf(run)) {
    SelectionProfile best(law, direction, run, delta * kNegligible);
    const double upper = UpperEpsilon(best, run, delta, worst.upper());
    worst = {LowerEpsilon(best, delta, worst.lower(), upper), upper};
    RETURN_IF_ERROR(run.stopped());
  }
  return worst;
}

absl::StatusOr<double> SelectionEpsilonUp(const TrialLaw& law, RunProfile& run, double delta) {
  if (!law.InReach()) return kInfinity;
  double epsilon = 0;
  for (const Direction direction : DirectionsOf(run)) {
    const SelectionProfile best(law, direction, run, delta * kNegligible);
    epsilon = UpperEpsilon(best, run, delta, epsilon);
    RETURN_IF_ERROR(run.stopped());
  }
  return epsilon;
}

}  // namespace dpledger::accountant::selection
