#include "certify/selection.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "base/value_rules.h"

namespace dpledger::certify {
namespace {

constexpr slong kRootBits = 256;
constexpr double kGreatestLogOdds = 40;
constexpr size_t kMostCells = 40000;
// Sets that a lower bound tries: each smaller by a ratio.
constexpr double kLeastSet = 1e-14, kSetRatio = 0.96;
constexpr long kFarthest = 100;  // of knots, in lattices
// A relative change of g that needs no cells.
constexpr double kNearlyLast = 1e-4;

constexpr double kNearlyZero = 1e-300;

bool IsZero(const Ball& x) { return CertainlyAtMost(x, 0.0) && CertainlyAtMost(0.0, x); }

Direction Opposite(Direction direction) {
  return direction == Direction::kRemove ? Direction::kAdd : Direction::kRemove;
}

// log(1/γ) of truncated negative binomials: the mean η(e^L - 1)/(1 - e^{-ηL}) rises with L.
Ball LogInverseGamma(double eta, double mean) {
  const Bits enough(kRootBits);
  double low = 0, high = 1;
  const auto mean_at = [&](double l) {
    const Ball rest = eta == 0 ? Ball(l) : -ExpM1(-(Ball(eta) * l)) / eta;
    return ExpM1(l) / rest;
  };
  while (!CertainlyLess(mean, mean_at(high)) && high < 1e7) high *= 2;
  while (CertainlyLess(mean, mean_at(high / 2)) && high > 1e-300) high /= 2;
  for (int i = 0; i < 70; ++i) {
    const double middle = (low + high) / 2;
    const Ball there = mean_at(middle);
    if (CertainlyLess(there, mean)) low = middle;
    if (CertainlyLess(mean, there)) high = middle;
  }
  return CertainlyLess(mean, mean_at(high)) ? Hull(low, high) : Ball(HUGE_VAL);
}

// slope x + at_zero, of h and of what bounds it.
struct Affine {
  Ball slope, at_zero;
  Ball At(const Ball& x) const { return slope * x + at_zero; }
};

// On all of [0, 1], g(x) - R g(h(x)) is at most the greatest a - R b of the points, R >= 0.
struct Point {
  Ball a, b;
};
class Cells {
 public:
  Cells(const Trials& trials, const Lattice& run, Direction direction, double cell)
      : trials_(trials), cell_(cell), last_(Max(trials.Weight(1.0).Least(), 0.0)) {
    for (long i = run.size() - 1; i > -run.size(); --i) {
      const Ball slope = Exp(Ball(static_cast<double>(i)) * run.spacing);
      lines_.push_back({slope, run.At(Opposite(direction), i).upper});
    }
  }
  std::vector<Point> Points(const Ball& negligible) {
    std::vector<Point> points;
    Ball x = 0.0, g = trials_.Weight(x);
    for (size_t i = 0; i < kMostCells && CertainlyLess(negligible, g); ++i) {
      const double step = Step(x);
      const Ball end = (x + step).Least(), middle = ((x + end) / 2.0).Least();
      if (!(step > 0) || !CertainlyLess(x, middle) || !CertainlyLess(end, 1.0)) break;
      const Affine& line = Lowest(middle);
      const Ball g_end = trials_.Weight(end);
      AddCell(line, {x, middle, end}, {g, g_end}, points);
      x = end, g = g_end;
    }
    points.push_back({g, last_});
    return points;
  }

 private:
  // Both g and h rise or fall by a part `cell` of themselves at most.
  double Step(const Ball& x) {
    const Affine& line = Lowest(x);
    const double rest = (Ball(1.0) - x).Middle(), first = 1 / trials_.Decay(0.0).Middle();
    if (rest * trials_.Decay(1.0).Middle() < kNearlyLast) return 0;
    double step = std::fmin(x.Middle() + first, std::fmin(rest, 1 / trials_.Decay(x).Middle()));
    const Ball h = line.At(x);
    if (CertainlyLess(h, 1.0)) step = std::fmin(step, 1 / (trials_.Decay(h) * line.slope).Middle());
    return cell_ * step;
  }
  // The lowest line; they are asked for from left to right.
  const Affine& Lowest(const Ball& x) {
    while (lowest_ + 1 < lines_.size() &&
           CertainlyLess(lines_[lowest_ + 1].At(x), lines_[lowest_].At(x))) {
      ++lowest_;
    }
    return lines_[lowest_];
  }
  // g is below its chord; g(h) is above a tangent along the line, or else above its end.
  struct Places {
    const Ball &from, &middle, &to;
  };
  void AddCell(const Affine& line, const Places& x, const std::pair<Ball, Ball>& g,
               std::vector<Point>& points) const {
    const Ball h_end = line.At(x.to);
    if (!CertainlyLess(h_end, 1.0)) {
      points.push_back({g.first, last_});
      return;
    }
    const Ball h = line.At(x.middle), at_middle = trials_.Weight(h);
    const Ball fall = at_middle * trials_.Decay(h) * line.slope;
    const Ball at_end = at_middle - fall * (x.to - x.middle);
    if (CertainlyPositive(at_end)) {
      points.push_back({g.first, at_middle + fall * (x.middle - x.from)});
      points.push_back({g.second, at_end});
    } else {
      points.push_back({g.first, trials_.Weight(h_end)});
    }
  }

  const Trials& trials_;
  double cell_;
  Ball last_;                  // g(1), or less
  std::vector<Affine> lines_;  // from steep to flat
  size_t lowest_ = 0;
};

// The greatest a - R b of points, or 0, for one R after the other, each greater than the last.
class Supremum {
 public:
  explicit Supremum(std::vector<Point> points) {
    for (Point& point : points) point = {point.a.Greatest(), Max(point.b.Least(), 0.0)};
    std::sort(points.begin(), points.end(),
              [](const Point& p, const Point& q) { return CertainlyLess(p.b, q.b); });
    for (const Point& point : points) Add(point);
    at_ = hull_.size() - 1;
  }
  // As a number.
  Ball At(const Ball& r) {
    const auto value = [&](size_t i) { return hull_[i].a - r * hull_[i].b; };
    // Values rise and then fall along the hull: none right of here is greater.
    if (!good_ || (at_ + 1 < hull_.size() && !CertainlyLess(value(at_ + 1), value(at_))))
      return HUGE_VAL;
    Ball here = value(at_), greatest = here;
    for (; at_ > 0; --at_) {
      const Ball next = value(at_ - 1);
      if (CertainlyLess(next, here)) break;
      here = next, greatest = Max(greatest, next);
    }
    return greatest.Greatest();
  }

 private:
  // Points below a chord of others are never the greatest.
  void Add(const Point& point) {
    if (CertainlyAtMost(point.a, hull_.back().a)) return;
    if (CertainlyAtMost(point.b, hull_.back().b)) hull_.pop_back();
    while (hull_.size() > 1) {
      const Point &first = hull_[hull_.size() - 2], &middle = hull_.back();
      const Ball left = (middle.a - first.a) * (point.b - middle.b);
      const Ball right = (point.a - middle.a) * (middle.b - first.b);
      good_ = good_ && (CertainlyLess(right, left) || CertainlyAtMost(left, right));
      if (!CertainlyAtMost(left, right)) break;
      hull_.pop_back();
    }
    hull_.push_back(point);
  }

  std::vector<Point> hull_ = {{0.0, 0.0}};  // both numbers rise
  bool good_ = true;                        // it is certainly concave
  size_t at_ = 0;
};

// What a set of greatest losses has, or h, from below: between two points of the lattice δ' is
// above the chord of the next two, carried on.
class LeastShare {
 public:
  LeastShare(const Lattice& run, Direction direction) {
    const auto at = [&](long i) { return run.At(Opposite(direction), i); };
    const auto slope = [&](long i) { return Exp(Ball(static_cast<double>(i)) * run.spacing); };
    const long last = run.size() - 1;
    for (long i = -last; i + 2 <= last; ++i) {
      const Ball fall = (at(i + 1).lower - at(i + 2).upper) / (slope(i + 2) - slope(i + 1));
      lines_.push_back({slope(i), at(i + 1).lower + fall * (slope(i + 1) - slope(i))});
      lines_.push_back({slope(i + 1), at(i + 1).lower});
    }
    lines_.push_back({slope(last - 1), at(last).lower});
    lines_.push_back({slope(last), 0.0});
    lines_.push_back({slope(-last), Ball(1.0) - slope(-last)});
  }
  Ball At(const Ball& x) const {
    Ball least = 1.0;
    for (const Affine& line : lines_) least = Min(least, line.At(x));
    return Max(least, 0.0).Least();
  }

 private:
  std::vector<Affine> lines_;
};

}  // namespace

Ball Trials::Weight(const Ball& x) const {
  if (IsZero(nu)) return mean;
  if (IsZero(theta)) return mean * Exp(-(nu * x));
  const Ball base = theta * x + 1.0;
  return CertainlyPositive(base) ? mean * Exp(-(nu * Log(base))) : Hull(0.0, mean);
}
Ball Trials::Selected(const Ball& from, const Ball& mass) const {
  if (IsZero(nu)) return mean * mass;
  if (IsZero(theta)) return mean * Exp(-(nu * from)) * -ExpM1(-(nu * mass)) / nu;
  const Ball here = theta * from + 1.0, there = theta * (from + mass) + 1.0, power = Ball(1.0) - nu;
  if (!CertainlyPositive(here)) return Hull(0.0, 1.0);  // a probability
  if (IsZero(power)) {
    return CertainlyPositive(there) ? mean * Log(there / here) / theta : Hull(0.0, 1.0);
  }
  // Where it may vanish, of a number of runs that is bounded, its power is positive, and rises.
  const Ball end = CertainlyPositive(there)
                       ? Exp(power * Log(there))
                       : Hull(0.0, Exp(power * Log(Max(there, kNearlyZero).Greatest())));
  return mean * (end - Exp(power * Log(here))) / (theta * power);
}
Ball Trials::Decay(const Ball& x) const {
  if (IsZero(theta)) return nu;
  return nu * theta / (theta * x + 1.0);
}

absl::StatusOr<Trials> TrialsOf(const v1::Trials& trials) {
  using rules::Within;
  switch (trials.kind_case()) {
    case v1::Trials::kNegativeBinomial: {
      const double eta = trials.negative_binomial().eta(), mean = trials.negative_binomial().mean();
      RETURN_IF_ERROR(rules::GreaterThan(-1, "trials.negative_binomial.eta", eta));
      RETURN_IF_ERROR(rules::GreaterThan(1, "trials.negative_binomial.mean", mean));
      return Trials{mean, ExpM1(LogInverseGamma(eta, mean)), Ball(eta) + 1.0, true, {}};
    }
    case v1::Trials::kPoisson: {
      const double mean = trials.poisson().mean();
      RETURN_IF_ERROR(rules::Positive("trials.poisson.mean", mean));
      return Trials{mean, 0.0, mean, false, {}};
    }
    case v1::Trials::kFixed: {
      RETURN_IF_ERROR(rules::Count("trials.fixed.count", trials.fixed().count()));
      const double count = static_cast<double>(trials.fixed().count());
      return Trials{count, -1.0, Ball(1.0) - count, true, count};
    }
    case v1::Trials::kBinomial: {
      const double p = trials.binomial().probability();
      RETURN_IF_ERROR(rules::Count("trials.binomial.trials", trials.binomial().trials()));
      RETURN_IF_ERROR(rules::SamplingProbability("trials.binomial.probability", p));
      const double count = static_cast<double>(trials.binomial().trials());
      return Trials{Ball(count) * p, -p, Ball(1.0) - count, p == 1, count};
    }
    default:
      return FieldError("trials", "must be of a kind with a number of runs");
  }
}

Bounds Lattice::At(Direction direction, long i) const {
  const bool mirrored = i < 0;
  const std::vector<Bounds>& one = (direction == Direction::kRemove) != mirrored ? remove : add;
  const long known = std::min(std::labs(i), size() - 1);
  // Past the last point δ is less than there.
  const Bounds at = {known == std::labs(i) ? one[known].lower : Ball(0.0), one[known].upper};
  if (!mirrored) return at;
  // δ(-t) = 1 - e^{-t} + e^{-t} δ'(t), δ' of the other direction.
  const Ball t = Ball(static_cast<double>(i)) * spacing, rest = -ExpM1(t), e = Exp(t);
  return {rest + e * at.lower, rest + e * at.upper};
}

Ball SelectedAbove(const Trials& trials, const Lattice& run, Direction direction, double epsilon,
                   const Fineness& fine) {
  const Ball negligible = fine.negligible;
  Supremum supremum(Cells(trials, run, direction, fine.cell).Points(negligible));
  // V falls and is convex: below its chords between the knots R, and past the last one below V
  // there. Σ R (what the slope changes) (1 - r/R)_+, of which those that are negative are left out.
  Ball total = 0.0, r = 0.0, v = trials.mean.Greatest(), slope = 0.0;
  const auto add_knot = [&](long i, const Ball& slope_after) {
    const Ball weight = r * (slope - slope_after);
    total = total + Max(weight, 0.0) * run.At(direction, i).upper;
  };
  const long first = run.size() - 1, last = -kFarthest * run.size();
  for (long i = first, before = first;; before = i, i -= std::max(1L, (-run.size() - i) / 64)) {
    // Below the lattice's point, if by rounding: there δ is less.
    const Ball next_r = Exp(Ball(epsilon) - Ball(static_cast<double>(i)) * run.spacing).Least();
    const Ball next_v = supremum.At(next_r);
    const Ball next_slope = (v - next_v) / (next_r - r);
    if (i < first) add_knot(before, next_slope);
    r = next_r, v = next_v, slope = next_slope;
    if (CertainlyLess(negligible, v) && i > last) continue;
    add_knot(i, 0.0);
    break;
  }
  return total + v;
}

Ball SelectedBelow(const Trials& trials, const Lattice& run, Direction direction, double epsilon) {
  const LeastShare second(run, direction), first(run, Opposite(direction));
  const Ball e = Exp(Ball(epsilon));
  // Of the second's mass, and the least of the first that a set of greatest losses then has.
  std::vector<std::pair<double, Ball>> sets;
  for (double mass = 1; mass > kLeastSet; mass *= kSetRatio)
    sets.emplace_back(mass, first.At(mass));
  Ball best = 0.0;
  double best_at = 0;
  const auto place = [&](double log_odds) {
    // The results of least loss are best, a share x; a set follows.
    const Ball x = (Ball(1.0) / (Exp(-Ball(log_odds)) + 1.0)).Least(), h = second.At(x);
    const auto shown = [&](size_t i) {
      const Ball mass = Min(sets[i].second, (Ball(1.0) - x).Least());
      const Ball other = Min(sets[i].first, (Ball(1.0) - h).Greatest());
      return (trials.Selected(x, mass) - e * trials.Selected(h, other)).Least();
    };
    size_t near = 0;
    Ball there = 0.0;
    for (const size_t step : {16, 1}) {
      const size_t end = step > 1 ? sets.size() : std::min(sets.size(), near + 16);
      for (size_t i = step > 1 ? 0 : near - std::min<size_t>(near, 16); i < end; i += step) {
        const Ball found = shown(i);
        if (CertainlyLess(there, found)) there = found, near = i;
      }
      if (!CertainlyPositive(there)) return;
    }
    if (CertainlyLess(best, there)) best = there, best_at = log_odds;
  };
  double reach = kGreatestLogOdds;
  for (const double step : {0.5, 0.05, 0.005}) {
    const double around = best_at;
    for (double u = around - reach; u <= around + reach; u += step) place(u);
    reach = step;
  }
  return best;
}

}  // namespace dpledger::certify
