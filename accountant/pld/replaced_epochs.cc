#include "accountant/pld/replaced_epochs.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "accountant/allocation/replaced.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pld/work.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

using allocation::ReplacedAbove;
using allocation::ReplacedBelow;
using allocation::Rounds;

// Meshes of laws: for a first look, to begin an answer with, and the finest.
constexpr double kFirstLook = 0.1, kFirst = 0.05, kFinest = 0.002;
// A finer mesh that is no finer than this is not worth its time.
constexpr double kWorthIt = 0.8;
// Of the δ in question, what a law may cut.
constexpr double kTailShare = 1e-5;
constexpr double kLeastTail = 1e-290;
// The share of the limits that one epoch's question takes: some tenths of a second.
constexpr double kShareOfOne = 0.3;
// Of a pair's values: the first after 0, in spreads; how many there should be at least, by coarser
// laws where that takes more work, but not by laws coarser than kCoarsestLaw.
constexpr double kFirstValue = 0.25, kUsualValues = 64, kCoarsestLaw = 0.2;
constexpr size_t kMostValues = 4096;

// The profile of one epoch. Both bounds count their work.
class Profile {
 public:
  Profile(const AllocatedGaussian& epoch, EpochLaws& laws, const Limits& limits)
      : laws_(laws),
        before_(laws.work()),
        above_{epoch.rounds, DivUp(0.5, epoch.noise_multiplier.lower()), epoch.missing},
        below_{epoch.rounds, DivDown(0.5, epoch.noise_multiplier.upper()), epoch.missing},
        some_(std::isfinite(epoch.noise_multiplier.upper())),
        limits_(limits) {}

  absl::StatusOr<double> Above(double epsilon, double mesh, double tail) {
    ASSIGN_OR_RETURN(const ReplacedAbove at,
                     laws_.DeltaAbove(above_, epsilon, mesh, tail, limits_));
    last_work_ = kWorkOfProduct * at.products;
    return at.delta;
  }
  absl::StatusOr<ReplacedBelow> Below(double epsilon, double mesh, double tail) {
    if (!some_) return ReplacedBelow{0, 0, 0, 0};
    ASSIGN_OR_RETURN(const ReplacedBelow at,
                     laws_.DeltaBelow(below_, epsilon, mesh, tail, limits_));
    last_work_ = kWorkOfProduct * at.products;
    return at;
  }
  // The work of all that was made for it, and of the last value, whenever that was made.
  double work() const { return laws_.work() - before_; }
  double last_work() const { return last_work_; }

 private:
  EpochLaws& laws_;
  const double before_;
  const Rounds above_, below_;
  const bool some_;  // whether anything is known below
  const Limits& limits_;
  double last_work_ = 0;
};

double TailFor(double delta) { return std::clamp(kTailShare * delta, kLeastTail, 0.1); }

// The pair that tests at descending levels tell apart: one outcome between each two levels, the
// outcomes of the mirrored tests, and one that tells nothing. `tests`: levels and powers descend.
Pair PairOfTests(const std::vector<ReplacedBelow>& tests) {
  // The greatest concave function through or above the points (level, power), from (0, 0) on.
  std::vector<ReplacedBelow> kept;
  for (size_t i = tests.size(); i-- > 0;) {
    ReplacedBelow next = tests[i];
    // Past the middle: the test that asks for the other record and says the opposite.
    if (next.power + next.level > 1) {
      const double power = next.power;
      next.power = NextDown(1 - next.level);
      next.level = NextUp(1 - power);
    }
    const auto slope_to_next = [&next](const ReplacedBelow* from) {
      const double level = from == nullptr ? 0 : from->level;
      const double power = from == nullptr ? 0 : from->power;
      return (next.power - power) / (next.level - level);
    };
    if (!(next.power > (kept.empty() ? 0 : kept.back().power) &&
          next.level > (kept.empty() ? 0 : kept.back().level))) {
      continue;
    }
    while (!kept.empty()) {
      const ReplacedBelow* before = kept.size() > 1 ? &kept[kept.size() - 2] : nullptr;
      if (slope_to_next(before) < slope_to_next(&kept.back())) {
        kept.pop_back();
      } else {
        break;
      }
    }
    // Nothing is told apart where both rise alike.
    if (!(slope_to_next(kept.empty() ? nullptr : &kept.back()) > 1)) continue;
    kept.push_back(next);
  }
  Pair pair;
  pair.symmetric = true;
  pair.relative_error = 8 * kUnitRoundoff;
  double power = 0, level = 0;
  for (const ReplacedBelow& test : kept) {
    const double p = test.power - power, q = test.level - level;
    pair.atoms.push_back({p, q});
    pair.atoms.push_back({q, p});
    power = test.power;
    level = test.level;
  }
  const double rest = 1 - power - level - 4 * kUnitRoundoff;
  if (rest > 0) pair.atoms.push_back({rest, rest});
  return pair;
}

}  // namespace

double SpreadOf(const AllocatedGaussian& epoch) {
  const double mu = 0.5 / epoch.noise_multiplier.lower();
  // Of r - r', whose terms have the variance e^{μ²} - 1 each and the covariance e^{-μ²} - 1.
  const double variance =
      2 * (std::expm1(mu * mu) - std::expm1(-mu * mu)) / static_cast<double>(epoch.rounds);
  return std::sqrt(std::fmin(1, variance));
}

namespace {

// Values of the profile at ascending ε, the first one 0.
struct Values {
  std::vector<ProfilePoint> above;
  std::vector<ReplacedBelow> below;  // all zero if only what is above was asked for
  // The logarithm of what the chord over the i-th interval adds, taking log δ to be linear, to a
  // composition of tilt c: e^{cε} is by how much less others must show there. Without a tilt: of
  // what it adds relatively.
  double LogExcess(size_t i, const std::optional<double>& tilt) const;
  // The interval over which the chord adds most; none if all add no more than they would if values
  // were `spacing` apart.
  std::optional<size_t> Worst(double spacing, const std::optional<double>& tilt) const;
};

double Values::LogExcess(size_t i, const std::optional<double>& tilt) const {
  const ProfilePoint &from = above[i], &to = above[i + 1];
  const double width = to.epsilon - from.epsilon;
  const double fall = std::log(from.delta / std::fmax(to.delta, kLeastTail));
  // At the chord's middle, (e^from + e^to)/2, so much of the way.
  const double share = std::log1p(std::expm1(width) / 2) / width;
  const double gap = std::fmax(0, (1 + std::exp(-fall)) / 2 - std::exp(-fall * share));
  const double middle = from.epsilon + width / 2;
  return std::log(width * gap) + (tilt.has_value() ? std::log(from.delta) + *tilt * middle : 0);
}

std::optional<size_t> Values::Worst(double spacing, const std::optional<double>& tilt) const {
  std::vector<double> excess;
  for (size_t i = 0; i + 1 < above.size(); ++i) excess.push_back(LogExcess(i, tilt));
  const auto greatest = std::max_element(excess.begin(), excess.end());
  double too_much = 0;
  for (size_t i = 0; i < excess.size(); ++i) {
    const double steps = (above[i + 1].epsilon - above[i].epsilon) / spacing;
    too_much += std::exp(excess[i] - *greatest) * (1 - 1 / (steps * steps));
  }
  if (!(too_much > 0)) return std::nullopt;
  return static_cast<size_t>(greatest - excess.begin());
}

}  // namespace

absl::StatusOr<ReplacedPairs> PairsOf(const AllocatedGaussian& epoch, Sides sides,
                                      const Wanted& wanted, double most_work, EpochLaws& laws,
                                      const Limits& limits) {
  Profile profile(epoch, laws, limits);
  const double cut = TailFor(wanted.tail);
  RETURN_IF_ERROR(profile.Above(SpreadOf(epoch), kFirstLook, cut).status());
  const double work_of_all = kUsualValues * (sides == Sides::kBoth ? 2 : 1) * profile.last_work();
  const double mesh = std::fmax(
      wanted.mesh, std::fmin(kCoarsestLaw, kFirstLook * std::sqrt(work_of_all / most_work)));
  Values values;
  double work_of_value = 0;
  const auto add = [&](size_t at, double epsilon) -> absl::Status {
    const double before = profile.work();
    ASSIGN_OR_RETURN(const double delta, profile.Above(epsilon, mesh, cut));
    ReplacedBelow test{};
    if (sides == Sides::kBoth) {
      ASSIGN_OR_RETURN(test, profile.Below(epsilon, mesh, cut));
    }
    values.above.insert(values.above.begin() + static_cast<std::ptrdiff_t>(at), {epsilon, delta});
    values.below.insert(values.below.begin() + static_cast<std::ptrdiff_t>(at), test);
    work_of_value = std::fmax(work_of_value, profile.work() - before);
    return absl::OkStatus();
  };
  // 1. Outwards, down to the tail.
  RETURN_IF_ERROR(add(0, 0));
  double next = kFirstValue * SpreadOf(epoch), growth = 2;
  while (values.above.back().delta > wanted.tail && next <= kGreatestProfileEpsilon) {
    const absl::Status added = add(values.above.size(), next);
    // Past what doubles hold the last value stays.
    if (absl::IsResourceExhausted(added) && values.above.size() > 1) {
      growth = std::sqrt(growth);
      if (growth < 1.1) break;
    } else {
      RETURN_IF_ERROR(added);
    }
    next = growth * values.above.back().epsilon;
  }
  // 2. In the middle of where chords add most.
  while (values.above.size() < kMostValues && profile.work() + work_of_value < most_work) {
    const std::optional<size_t> worst = values.Worst(wanted.spacing, wanted.tilt);
    if (!worst.has_value()) break;
    const double middle = (values.above[*worst].epsilon + values.above[*worst + 1].epsilon) / 2;
    RETURN_IF_ERROR(add(*worst + 1, middle));
  }
  ReplacedPairs pairs{PairOfProfile(values.above, values.above), PairOfTests(values.below),
                      profile.work()};
  pairs.upper.symmetric = true;
  return pairs;
}

namespace {

// ε(δ) by ever finer laws.
class Epsilons {
 public:
  Epsilons(const AllocatedGaussian& epoch, double delta, EpochLaws& laws, const Limits& limits)
      : profile_(epoch, laws, limits),
        delta_(delta),
        tail_(TailFor(delta)),
        spread_(SpreadOf(epoch)) {}

  // A first interval, by coarse laws. Its upper end is infinite where none are within reach.
  absl::Status Begin();
  // By laws of a finer mesh; the mesh before was `before`.
  absl::Status Narrow(double mesh, double before);

  const Interval& value() const { return value_; }
  const Profile& profile() const { return profile_; }

 private:
  // log δ_above(at) - log δ; at most 0 moves the upper end.
  absl::StatusOr<double> Excess(double at, double mesh);
  // Moves the lower end by the test that is best at `at`.
  absl::Status Test(double at, double mesh);

  Profile profile_;
  const double delta_, tail_, spread_;
  Interval value_{0, kInfinity};
  double slope_ = 0;  // d log δ/dε at the end of the interval, negative
};

absl::StatusOr<double> Epsilons::Excess(double at, double mesh) {
  ASSIGN_OR_RETURN(const double delta, profile_.Above(at, mesh, tail_));
  if (delta <= delta_) value_ = {value_.lower(), std::fmin(value_.upper(), at)};
  return std::log(delta) - std::log(delta_);
}

// δ(x) >= power - e^x level at every x.
absl::Status Epsilons::Test(double at, double mesh) {
  ASSIGN_OR_RETURN(const ReplacedBelow test, profile_.Below(at, mesh, tail_));
  if (!(test.delta > 0)) return absl::OkStatus();
  slope_ = -std::exp(at) * test.level / test.delta;
  // The difference is rounded, and the powers themselves are not exact beyond it.
  const double apart = test.power - delta_;
  const double off = 4 * kUnitRoundoff * (test.power + delta_);
  if (!(apart - off > 0)) return absl::OkStatus();
  const double found = LogDown(DivDown(NextDown(apart - off), test.level));
  // Next to what was asked the value itself says more than the difference.
  const double surely = test.delta > delta_ * (1 + 4 * kUnitRoundoff) ? at : 0;
  value_ = {std::fmax(value_.lower(), std::fmax(surely, found)), value_.upper()};
  return absl::OkStatus();
}

absl::Status Epsilons::Begin() {
  ASSIGN_OR_RETURN(double excess, Excess(0, kFirstLook));
  if (excess <= 0) return absl::OkStatus();
  // Bracketed by doubling, then secants of log δ, which falls ever faster.
  double low = 0, low_excess = excess, high = spread_, limit = kGreatestProfileEpsilon;
  for (;;) {
    const absl::StatusOr<double> at = Excess(high, kFirstLook);
    if (absl::IsResourceExhausted(at.status())) {
      limit = high;
      high = low + (high - low) / 2;
      if (!(limit - low > 1e-3 * limit)) return absl::OkStatus();
      continue;
    }
    RETURN_IF_ERROR(at.status());
    if (*at <= 0) {
      excess = *at;
      break;
    }
    low = high;
    low_excess = *at;
    if (!(2 * high < limit)) {
      high = low + (limit - low) / 2;
      if (!(limit - low > 1e-3 * limit)) return absl::OkStatus();
    } else {
      high *= 2;
    }
  }
  double high_excess = excess;
  for (int i = 0; i < 12 && high - low > 0.02 * high; ++i) {
    double share = low_excess / (low_excess - high_excess);
    share = i % 3 == 2 || !(share > 0.02 && share < 0.98) ? 0.5 : share + 0.01;
    const double at = low + (high - low) * share;
    ASSIGN_OR_RETURN(const double found, Excess(at, kFirstLook));
    if (found <= 0) {
      high = at;
      high_excess = found;
    } else {
      low = at;
      low_excess = found;
    }
  }
  return Test(high, kFirstLook);
}

absl::Status Epsilons::Narrow(double mesh, double before) {
  // The excess of a law goes as its mesh squared.
  const double middle = (value_.lower() + value_.upper()) / 2, half = value_.upper() - middle;
  const double shrink = (mesh / before) * (mesh / before);
  if (!(slope_ < 0)) slope_ = -1 / value_.upper();
  double at = middle + half * shrink * 1.2, low = value_.lower();
  for (int i = 0; i < 4 && at < value_.upper() && at > low; ++i) {
    ASSIGN_OR_RETURN(const double excess, Excess(at, mesh));
    const double root = at - excess / slope_, gap = value_.upper() - value_.lower();
    if (excess > 0) low = at;
    if (excess <= 0 && at - root <= 0.1 * gap) break;
    at = root + 0.03 * gap;
  }
  // A test says most where it is best: about where δ is passed.
  return Test(std::fmax(low, value_.upper() - half * shrink), mesh);
}

// By which the gap should be as wanted, or as far as what is left of the work goes.
double NextMesh(double mesh, double gap, double wanted, const Profile& profile, double most_work) {
  const double left = std::fmax(1, most_work - profile.work());
  // A law below, and two above.
  const double finest = mesh * std::sqrt(3 * profile.last_work() / left);
  const double next = mesh * std::fmin(0.7, 0.85 * std::sqrt(wanted / gap));
  return std::fmax(next, std::fmax(finest, kFinest));
}

}  // namespace

absl::StatusOr<std::optional<Interval>> EpsilonOfOne(const AllocatedGaussian& epoch, double delta,
                                                     double relative_gap, EpochLaws& laws,
                                                     const Limits& limits) {
  Epsilons asked(epoch, delta, laws, limits);
  const absl::Status begun = asked.Begin();
  if (absl::IsResourceExhausted(begun)) return std::nullopt;
  RETURN_IF_ERROR(begun);
  if (!std::isfinite(asked.value().upper())) return std::nullopt;
  const double most_work = kShareOfOne * limits.max_grid_work;
  double before = kFirstLook, mesh = kFirst;
  for (int i = 0; i < 4 && asked.value().RelativeGap() > relative_gap; ++i) {
    const absl::Status narrowed = asked.Narrow(mesh, before);
    if (absl::IsDeadlineExceeded(narrowed)) break;  // a looser interval rather than none
    RETURN_IF_ERROR(narrowed);
    before = mesh;
    mesh = NextMesh(mesh, asked.value().RelativeGap(), relative_gap, asked.profile(), most_work);
    if (mesh > kWorthIt * before) break;
  }
  return asked.value();
}

absl::StatusOr<std::optional<Interval>> DeltaOfOne(const AllocatedGaussian& epoch, double epsilon,
                                                   double relative_gap, EpochLaws& laws,
                                                   const Limits& limits) {
  Profile profile(epoch, laws, limits);
  Interval value{0, 1};
  const double most_work = kShareOfOne * limits.max_grid_work;
  double mesh = kFirstLook, tail = 0;
  // Until what is cut is small beside the value.
  for (const double scale : {1e-10, 1e-40, 1e-120, 1e-250, 1e-285}) {
    tail = TailFor(scale);
    const absl::StatusOr<double> above = profile.Above(epsilon, mesh, tail);
    if (absl::IsResourceExhausted(above.status())) return std::nullopt;
    RETURN_IF_ERROR(above.status());
    value = {0, std::fmin(value.upper(), *above)};
    if (*above > scale) break;
  }
  tail = TailFor(value.upper());
  for (int i = 0; i < 5; ++i) {
    const absl::StatusOr<double> above = profile.Above(epsilon, mesh, tail);
    if (absl::IsDeadlineExceeded(above.status())) break;
    RETURN_IF_ERROR(above.status());
    value = {value.lower(), std::fmin(value.upper(), *above)};
    const absl::StatusOr<ReplacedBelow> below = profile.Below(epsilon, mesh, tail);
    if (absl::IsDeadlineExceeded(below.status())) break;
    RETURN_IF_ERROR(below.status());
    value = {std::fmax(value.lower(), below->delta), value.upper()};
    const double gap = value.RelativeGap();
    if (gap <= relative_gap) break;
    const double next = NextMesh(mesh, gap, relative_gap, profile, most_work);
    if (next > kWorthIt * mesh) break;
    mesh = next;
  }
  return value;
}

}  // namespace dpledger::accountant::pld
