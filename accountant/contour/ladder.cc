#include "accountant/contour/ladder.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "accountant/contour/laid_line.h"
#include "accountant/contour/part.h"
#include "accountant/contour/saddle.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::contour {
namespace {

// Each neglected share, alias, end and quadrature may cost this much of δ: 1e-9; 1e-6 where less
// work is allowed than a question may take; or 1e-5 where the lines for that are out of reach.
// If losses are within a few q of 0, those at the lower edge of the loss make lines so long that
// only the last share, 2e-3, is left: the interval for ε is wide then, but its lower end is not 0.
constexpr double kLogShares[] = {-20.7, -11.5, -6}, kSoonLogShares[] = {-14, -6};
// From one cut to the next the loss falls by this factor.
constexpr double kRatio = 2.5;
constexpr int kGreatestRungs = 40;
// The part below a cut is taken whole if its own line has no more nodes than this.
constexpr size_t kShortLine = 3000, kLongLine = size_t{1} << 16;
constexpr int kLayings = 5;
constexpr double kHighestInAdd = 0.5;  // the highest cut in the add direction
constexpr double kGreatestWidth = 0.6, kLeastLogDelta = -600;
constexpr double kLeastEpsilon = 1e-12;  // below it ε is not sought

// Whether the part's own bounds are so close that δ, about e^{log_delta}, has many digits: not
// where tails that hardly matter to δ dominate the moments at the saddle.
bool IsSharp(const Part& part, double epsilon, double log_delta, double log_share) {
  const PartOfDelta at = part.At(epsilon);
  return at.upper - at.lower <= std::exp(log_share + 5) * std::fmax(std::exp(log_delta), at.value);
}

// The ε at which a ladder's lines have a given δ, and how far from it the bounds may be.
struct Place {
  double epsilon = 0, width = 0;
};

// δ as a sum of parts, laid at one ε.
class Ladder {
 public:
  // `log_share`: one of kLogShares. Once `work` is spent, lines are out of reach.
  Ladder(const std::vector<Step>& steps, double log_share, const Limits& limits, JumpWork& work)
      : steps_(steps), log_share_(log_share), limits_(limits), work_(work) {}

  // Finds the cut above which nothing matters to a δ of e^{log_delta}. False if there is none.
  bool FindTop(double log_delta);

  // The saddle-point estimate of δ(epsilon), as a logarithm.
  absl::StatusOr<double> LogEstimate(double epsilon);

  // Lays lines for δ(epsilon), which is about e^{log_delta}. False if some line is out of reach.
  absl::StatusOr<bool> Lay(double epsilon, double log_delta);

  // Valid at every ε once laid.
  PartOfDelta At(double epsilon) const;

  // An ε whose estimated δ is about e^{log_delta}.
  absl::StatusOr<double> GuessEpsilon(double log_delta);
  // Lays lines where δ is e^{log_delta}, by Newton's method from `epsilon`. nullopt where some line
  // is out of reach.
  absl::StatusOr<std::optional<Place>> Settle(double epsilon, double log_delta);

 private:
  double Solve(double start, double log_delta) const;
  std::vector<Window> WindowsAt(double low_loss, double high_loss) const;
  double Digits() const { return 34; }

  const std::vector<Step>& steps_;
  const double log_share_;
  const Limits& limits_;
  JumpWork& work_;
  double top_loss_ = 0, top_mass_ = 0;
  std::vector<double> widths_;
  std::vector<Part> parts_;
  std::optional<Chernoff> neglected_;  // what is below the last cut, where that is not a part
};

// The cut below `high`.
double Below(double high) { return std::isfinite(high) ? high / kRatio : kHighestInAdd; }

bool Ladder::FindTop(double log_delta) {
  widths_.clear();
  if (steps_[0].add) {
    // Jumps are losses below 0: they need no upper cut.
    for (const Step& step : steps_) widths_.push_back(std::fmin(0.25 / step.mu, kGreatestWidth));
    top_loss_ = kInfinity;
    top_mass_ = 0;
    return true;
  }
  const auto mass = [&](double loss, std::vector<double>* widths) {
    double log_mass = -kInfinity;
    for (const Step& step : steps_) {
      const double at = PlaceOf(step, loss);
      const double width =
          std::fmin(std::fmin(0.25 / step.mu, kGreatestWidth), 1 / std::fmax(1, at));
      if (widths != nullptr) widths->push_back(width);
      const double unsampled = std::log1p(-step.q) + LogCutUp({at, width}, 0);
      const double sampled = std::log(step.q) + LogCutUp({at, width}, step.mu);
      for (const double one : {unsampled, sampled}) {
        const double all = one + std::log(step.count);
        log_mass = std::fmax(log_mass, all) + std::log1p(std::exp(-std::fabs(all - log_mass)));
      }
    }
    return log_mass;
  };
  const double goal = log_delta + log_share_;
  double low = -40, high = std::log(600.0);  // of the loss
  if (mass(std::exp(high), nullptr) > goal) return false;
  for (int i = 0; i < 60 && high - low > 1e-3; ++i) {
    const double middle = (low + high) / 2;
    (mass(std::exp(middle), nullptr) > goal ? low : high) = middle;
  }
  top_loss_ = std::exp(high);
  top_mass_ = std::exp(mass(top_loss_, &widths_)) * (1 + 1e-8);
  return true;
}

std::vector<Window> Ladder::WindowsAt(double low_loss, double high_loss) const {
  std::vector<Window> windows;
  for (size_t i = 0; i < steps_.size(); ++i) {
    windows.push_back({low_loss > 0 ? PlaceOf(steps_[i], low_loss) : -kInfinity,
                       std::isfinite(high_loss) ? PlaceOf(steps_[i], high_loss) : kInfinity,
                       widths_[i]});
  }
  return windows;
}

absl::StatusOr<double> Ladder::LogEstimate(double epsilon) {
  double total = -kInfinity, high = top_loss_;
  const auto add = [&](const Tilted& at) {
    const double estimate =
        LogDeltaEstimate({at.c, at.log_mgf, 0, at.mean, std::fmax(0, at.variance)}, epsilon);
    if (!std::isfinite(estimate)) return;
    total = std::fmax(total, estimate) + std::log1p(std::exp(-std::fabs(estimate - total)));
  };
  for (int i = 0; i < kGreatestRungs; ++i, high = Below(high)) {
    RETURN_IF_ERROR(limits_.Check());
    Measure near(steps_, WindowsAt(0, high), 12, work_);
    Measure shell(steps_, WindowsAt(Below(high), high), 12, work_);
    if (!near.ok() || !shell.ok()) return total;
    const Tilted below = near.ForEpsilon(epsilon);
    const double chernoff = below.log_mgf - below.c * epsilon;
    // Hardly any jumps reach as far up: the rest is one part.
    if (chernoff < total - 9 || high < epsilon * 1e-3 || !std::isfinite(high)) {
      add(below);
      break;
    }
    add(shell.ForEpsilon(epsilon));
  }
  return total;
}

absl::StatusOr<bool> Ladder::Lay(double epsilon, double log_delta) {
  parts_.clear();
  neglected_.reset();
  const double goal = log_delta + log_share_;
  double high = top_loss_;
  for (int i = 0; i < kGreatestRungs; ++i, high = Below(high)) {
    RETURN_IF_ERROR(limits_.Check());
    Measure near(steps_, WindowsAt(0, high), Digits(), work_);
    if (!near.ok()) return false;
    neglected_ = near.ChernoffAt(epsilon);
    if (neglected_->LogDeltaUp(epsilon) < goal) return true;
    neglected_.reset();
    ASSIGN_OR_RETURN(
        std::optional<Part> whole,
        Part::Lay(near, epsilon, goal, std::isfinite(high) ? kShortLine : kLongLine, limits_));
    if (whole.has_value() && IsSharp(*whole, epsilon, log_delta, log_share_)) {
      parts_.push_back(*std::move(whole));
      return true;
    }
    Measure shell(steps_, WindowsAt(Below(high), high), Digits(), work_);
    std::optional<Part> part;
    if (shell.ok()) {
      ASSIGN_OR_RETURN(part, Part::Lay(shell, epsilon, goal, kLongLine, limits_));
    }
    if (!part.has_value()) {
      // The rungs end here, at whatever length.
      if (!whole.has_value()) {
        Measure again(steps_, WindowsAt(0, high), Digits(), work_);
        ASSIGN_OR_RETURN(whole, Part::Lay(again, epsilon, goal, kLongLine, limits_));
      }
      if (!whole.has_value()) return false;
      parts_.push_back(*std::move(whole));
      return true;
    }
    parts_.push_back(*std::move(part));
  }
  return false;
}

PartOfDelta Ladder::At(double epsilon) const {
  PartOfDelta sum{0, top_mass_, 0, 0};
  if (neglected_.has_value()) {
    sum.upper = AddUp(sum.upper, ExpUp(neglected_->LogDeltaUp(epsilon)));
  }
  for (const Part& part : parts_) {
    const PartOfDelta at = part.At(epsilon);
    sum.lower = AddDown(sum.lower, at.lower);
    sum.upper = AddUp(sum.upper, at.upper);
    sum.value += at.value;
    sum.slope += at.slope;
  }
  return sum;
}

absl::StatusOr<double> Ladder::GuessEpsilon(double log_delta) {
  double low = 0, high = kInfinity, epsilon = 0.1;
  double above = 0, below = 0;  // the estimate at low and at high, over log_delta
  for (int i = 0; i < 30; ++i) {
    ASSIGN_OR_RETURN(const double estimate, LogEstimate(epsilon));
    const double excess = estimate - log_delta;
    if (std::fabs(excess) < 0.05) break;
    (excess > 0 ? low : high) = epsilon;
    (excess > 0 ? above : below) = excess;
    if (high < kLeastEpsilon || high < 1.01 * low) break;
    if (high == kInfinity) {
      epsilon *= 4;
    } else if (low == 0) {
      epsilon /= 8;
    } else {
      // The secant in log ε, kept off the ends.
      const double share = std::clamp(above / (above - below), 0.1, 0.9);
      epsilon = low * std::pow(high / low, std::isfinite(share) ? share : 0.5);
    }
  }
  return epsilon;
}

double Ladder::Solve(double start, double log_delta) const {
  double guess = start;
  for (int i = 0; i < 30; ++i) {
    const PartOfDelta at = At(guess);
    if (!(at.value > 0 && at.slope < 0)) break;
    const double step = (std::log(at.value) - log_delta) * at.value / -at.slope;
    const double next = std::fmin(std::fmax(guess + step, 0.5 * guess), 2 * guess);
    if (std::fabs(next - guess) <= 1e-13 * guess) break;
    guess = next;
  }
  return guess;
}

absl::StatusOr<std::optional<Place>> Ladder::Settle(double epsilon, double log_delta) {
  Place place{epsilon, 0};
  for (int i = 0; i < kLayings; ++i) {
    ASSIGN_OR_RETURN(const bool laid, Lay(place.epsilon, log_delta));
    if (!laid) return std::nullopt;
    const double guess = Solve(place.epsilon, log_delta);
    const PartOfDelta at = At(guess);
    const bool settled = std::fabs(guess - place.epsilon) <= 0.02 * place.epsilon;
    place = {guess, (at.upper - at.lower) / std::fmax(1e-300, -at.slope) + 1e-14 * guess};
    if (settled) break;
  }
  return std::optional<Place>(place);
}

// Whether μ is known exactly.
bool Same(const Widths& steps) {
  for (size_t i = 0; i < steps.upper.size(); ++i) {
    if (steps.upper[i].mu != steps.lower[i].mu) return false;
  }
  return true;
}

// Whether the steps are in the range in which the search was measured to end soon; outside it a
// question may take many seconds.
bool Applies(const std::vector<Step>& steps) {
  constexpr double kLeastProbability = 1e-15, kGreatestCount = 0x1p53;
  constexpr double kLeastNoise = 0.02, kGreatestNoise = 1000;
  constexpr size_t kGreatestKinds = 8;
  const auto within = [](const Step& step) {
    return step.q >= kLeastProbability && step.q < 1 && step.count <= kGreatestCount &&
           step.mu <= 1 / kLeastNoise && step.mu >= 1 / kGreatestNoise;
  };
  return steps.size() <= kGreatestKinds && std::all_of(steps.begin(), steps.end(), within);
}

// A point at which `holds` is true, from `from` outwards by growing steps of sign `sign`; nothing
// after 50 steps. Not below 0.
template <typename F>
std::optional<double> Outward(const Place& from, double sign, F holds) {
  double width = from.width;
  for (int i = 0; i < 50; ++i, width *= 2) {
    const double at = std::fmax(0, from.epsilon + sign * width);
    if (holds(at)) return at;
    if (at == 0) return std::nullopt;
  }
  return std::nullopt;
}

using Found = absl::StatusOr<std::optional<Interval>>;

Found EpsilonWith(double log_share, const Widths& steps, double delta, const Limits& limits,
                  JumpWork& work) {
  const double log_delta = std::log(delta);
  if (!(log_delta > kLeastLogDelta)) return std::nullopt;
  const double delta_down = NextDown(delta), delta_up = NextUp(delta);
  Ladder above(steps.upper, log_share, limits, work);
  if (!above.FindTop(log_delta)) return std::nullopt;
  // ε may be 0.
  ASSIGN_OR_RETURN(const double at_zero, above.LogEstimate(0));
  if (at_zero < log_delta + 0.5) {
    ASSIGN_OR_RETURN(const bool laid, above.Lay(0, log_delta));
    if (laid && above.At(0).upper <= delta_down) return Interval(0, 0);
  }
  ASSIGN_OR_RETURN(double epsilon, above.GuessEpsilon(log_delta));
  ASSIGN_OR_RETURN(const std::optional<Place> at, above.Settle(epsilon, log_delta));
  if (!at.has_value()) return std::nullopt;
  const std::optional<double> upper =
      Outward(*at, 1, [&](double e) { return above.At(e).upper <= delta_down; });
  if (!upper.has_value()) return std::nullopt;
  const auto lower_bound = [&](const Ladder& on, const Place& from) {
    return Outward(from, -1, [&](double e) { return on.At(e).lower >= delta_up; }).value_or(0);
  };
  if (Same(steps)) return Interval(lower_bound(above, *at), *upper);
  Ladder below(steps.lower, log_share, limits, work);
  if (!below.FindTop(log_delta)) return std::nullopt;
  ASSIGN_OR_RETURN(const std::optional<Place> low, below.Settle(at->epsilon, log_delta));
  if (!low.has_value()) return std::nullopt;
  return Interval(lower_bound(below, *low), *upper);
}

Found DeltaWith(double log_share, const Widths& steps, double epsilon, const Limits& limits,
                JumpWork& work) {
  Ladder above(steps.upper, log_share, limits, work);
  double log_delta = -50;
  for (int i = 0; i < kLayings; ++i) {
    if (!above.FindTop(log_delta)) return std::nullopt;
    ASSIGN_OR_RETURN(const double estimate, above.LogEstimate(epsilon));
    if (!std::isfinite(estimate)) return std::nullopt;
    const bool settled = std::fabs(estimate - log_delta) < 1;
    log_delta = estimate;
    if (settled) break;
  }
  if (!(log_delta > kLeastLogDelta) || !above.FindTop(log_delta)) return std::nullopt;
  ASSIGN_OR_RETURN(const bool laid, above.Lay(epsilon, log_delta));
  if (!laid) return std::nullopt;
  const PartOfDelta high = above.At(epsilon);
  if (Same(steps)) return Interval(high.lower, std::fmin(1, high.upper));
  Ladder below(steps.lower, log_share, limits, work);
  ASSIGN_OR_RETURN(const bool both,
                   below.FindTop(log_delta) ? below.Lay(epsilon, log_delta) : false);
  if (!both) return std::nullopt;
  return Interval(below.At(epsilon).lower, std::fmin(1, high.upper));
}

// The first useful answer of `question` over the shares; else the narrowest. If one runs out of its
// work, the next ones have half as much: they need less, and all together stay below twice the
// limit.
template <typename Question>
Found FirstUseful(const Widths& steps, const Limits& limits, const Question& question) {
  if (!Applies(steps.upper)) return std::nullopt;
  const bool soon = limits.max_jump_work < Limits().max_jump_work;
  std::optional<Interval> best;
  double most_work = limits.max_jump_work;
  for (const double log_share :
       soon ? absl::MakeConstSpan(kSoonLogShares) : absl::MakeConstSpan(kLogShares)) {
    JumpWork work{most_work};
    ASSIGN_OR_RETURN(const std::optional<Interval> found, question(log_share, work));
    if (work.IsSpent()) most_work /= 2;
    if (!found.has_value()) continue;
    if (!best.has_value() || found->RelativeGap() < best->RelativeGap()) best = found;
    if (best->RelativeGap() <= kUsefulGap) break;
  }
  return best;
}

}  // namespace

Found DeltaByJumpsTo(double log_share, const Widths& steps, double epsilon, const Limits& limits) {
  if (!Applies(steps.upper)) return std::nullopt;
  JumpWork work{limits.max_jump_work};
  return DeltaWith(log_share, steps, epsilon, limits, work);
}

Found DeltaByJumps(const Widths& steps, double epsilon, const Limits& limits) {
  return FirstUseful(steps, limits, [&](double log_share, JumpWork& work) {
    return DeltaWith(log_share, steps, epsilon, limits, work);
  });
}

Found EpsilonByJumps(const Widths& steps, double delta, const Limits& limits) {
  return FirstUseful(steps, limits, [&](double log_share, JumpWork& work) {
    return EpsilonWith(log_share, steps, delta, limits, work);
  });
}

}  // namespace dpledger::accountant::contour
