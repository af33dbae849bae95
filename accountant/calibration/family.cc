#include "accountant/calibration/family.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Evaluations at most, of either search; they converge like a secant's, or by halving where that
// fails.
constexpr int kEvaluations = 120;
// How near the first, fast search has to come.
constexpr double kRough = 0.02;
// The relative gap at which a value is tried first: most are farther than that from the target.
constexpr double kFirstGap = 0.01;
// What a value that is tried may take of a question's work on the loss grid, and what one near the
// solution may: ten of the former and three of the latter take as long as one question.
constexpr double kTrial = 1.0 / 40, kFinal = 0.15;
// Values asked near the solution: where that is enough for the gap that is wanted, and where not.
constexpr int kFinalTries = 6, kFinalTriesWide = 3;
// How near trials come where the gap that is wanted is out of their reach.
constexpr double kTrialTolerance = 5e-3;

absl::Status NoSolution(absl::string_view what) {
  return WithReason(absl::FailedPreconditionError(what), {"NO_SOLUTION", {}});
}

// Where a value was tried: y is log x, turned so that ε falls with it.
struct Point {
  double y, log_epsilon;
};

class Search {
 public:
  Search(const Family& family, bool grows, double epsilon, double delta, const Options& options)
      : family_(family),
        sign_(grows ? -1 : 1),
        target_(epsilon),
        delta_(delta),
        options_(options),
        least_(sign_ * std::log(grows ? family.greatest : family.least)),
        greatest_(sign_ * std::log(grows ? family.least : family.greatest)) {}

  double Value(double y) const {
    const double x = std::clamp(std::exp(sign_ * y), family_.least, family_.greatest);
    if (family_.unit == 0) return x;
    return std::clamp(std::nearbyint(x / family_.unit) * family_.unit, family_.least,
                      family_.greatest);
  }
  double Place(double x) const { return sign_ * std::log(x); }

  // Tries y and keeps what it shows.
  absl::Status Try(double y) {
    RETURN_IF_ERROR(options_.limits.Check());
    const double x = Value(y);
    ASSIGN_OR_RETURN(const Composition composition, family_.at(x));
    Options asked = options_;
    asked.limits.max_grid_work *= effort_;
    const auto ask = [&](double gap) -> absl::StatusOr<Answer> {
      asked.relative_gap = gap;
      ASSIGN_OR_RETURN(Answer answer, ComputeEpsilon(composition, delta_, asked));
      hard_ |= answer.value.RelativeGap() > gap;
      return answer;
    };
    const double wanted = options_.relative_gap;
    ASSIGN_OR_RETURN(Answer answer, ask(hard_ ? wanted : std::fmax(kFirstGap, wanted)));
    Point point{Place(x), std::log(answer.value.upper())};
    if (!hard_ && IsRough(answer)) {
      if (Tells(answer)) {
        point.log_epsilon += excess_;
      } else {
        const double first = point.log_epsilon;
        ASSIGN_OR_RETURN(answer, ask(wanted));
        point.log_epsilon = std::log(answer.value.upper());
        excess_ = point.log_epsilon - first;
      }
    }
    if (answer.value.lower() > target_ && (!surely_missed_ || point.y > surely_missed_->y)) {
      surely_missed_ = point;
    }
    if (IsSafe(answer)) {
      if (!safe_ || point.y <= safe_->y) {
        safe_ = point;
        at_safe_ = answer;
      }
    } else if (!missed_ || point.y > missed_->y) {
      missed_ = point;
    }
    return absl::OkStatus();
  }

  // A value that meets the target and one that does not, by growing steps from `y`; or one end of
  // the domain.
  absl::Status Bracket(double y) {
    RETURN_IF_ERROR(Try(std::clamp(y, least_, greatest_)));
    for (double step = 0.05; !safe_ && missed_->y < greatest_; step *= 2.5) {
      RETURN_IF_ERROR(Try(std::fmin(greatest_, missed_->y + Step(*missed_, step))));
    }
    if (!safe_) return NoSolution("no value of the unknown meets the target");
    for (double step = 0.05; !missed_ && safe_->y > least_; step *= 2.5) {
      RETURN_IF_ERROR(Try(std::fmax(least_, safe_->y - Step(*safe_, step))));
    }
    return absl::OkStatus();
  }

  // Narrows the bracket to `tolerance` of x.
  absl::Status Narrow(double tolerance) { return Narrow(tolerance, tolerance); }
  // The same to `where_hard` where trials show little.
  absl::Status Narrow(double tolerance, double where_hard) {
    double width = kInfinity;
    slope_ = (missed_->log_epsilon - safe_->log_epsilon) / (safe_->y - missed_->y);
    for (int i = 0; i < kEvaluations; ++i) {
      if (Closed(hard_ ? where_hard : tolerance)) break;
      const double now = safe_->y - missed_->y;
      const bool slow = i % 3 == 2 && now > width / 2;  // of three steps, one halves at least
      if (i % 3 == 0) width = now;
      RETURN_IF_ERROR(Try(slow ? Middle() : Guess(tolerance)));
    }
    return absl::OkStatus();
  }

  // Asks for the safe value's ε at the gap that is wanted. Where trials did not reach that, more
  // work brings the upper bound down: then on towards the value at which it meets the target, by
  // the slope that trials showed.
  absl::Status Settle(double tolerance) {
    effort_ = kFinal;
    if (!hard_) {
      if (!IsRough(at_safe_)) return absl::OkStatus();
      hard_ = true;  // asks for the gap that is wanted at once
      return Try(safe_->y);
    }
    const Point safe = *safe_;
    const std::optional<Point> missed = std::exchange(missed_, std::nullopt);
    RETURN_IF_ERROR(Try(safe.y));
    if (missed.has_value() && safe_->log_epsilon > safe.log_epsilon - tolerance) {
      // It is not work that keeps the bounds apart.
      missed_ = missed;
      effort_ = kTrial;
      RETURN_IF_ERROR(Narrow(tolerance));
      effort_ = kFinal;
      return absl::OkStatus();
    }
    if (!(slope_ > 0 && std::isfinite(slope_))) return absl::OkStatus();
    for (int i = 1; i < (WantedReached() ? kFinalTries : kFinalTriesWide); ++i) {
      if (missed_.has_value() && Closed(tolerance)) break;
      const double left = Aim() - safe_->log_epsilon;
      const double on = 0.97 * left / slope_;
      if (!missed_.has_value() && on <= tolerance) break;
      // (Rather a little short of it than on the other side: few values are left.)
      const double y =
          missed_.has_value()
              ? Guess(tolerance) + (WantedReached() ? 0 : 0.02 * (safe_->y - missed_->y))
              : safe_->y - on;
      if (Value(y) == Value(safe_->y)) break;
      RETURN_IF_ERROR(Try(std::fmax(least_, y)));
    }
    return absl::OkStatus();
  }

  // Looks for a value close below the safe one whose lower bound misses the target.
  absl::Status FindMiss() {
    const double safe = Value(safe_->y);
    // A value whose own bounds are wide is not told from those that are nearer.
    const double wide = std::fmax(1, at_safe_.value.RelativeGap() / options_.relative_gap);
    double units = std::fmax(1, std::floor(2 * wide * UnitsInGap()));
    for (double back = 2 * wide * options_.relative_gap; back < 3; back *= 2, units *= 2) {
      const double y = std::fmax(
          least_, family_.unit == 0
                      ? safe_->y - back
                      : Place(std::fmax(safe - sign_ * units * family_.unit, family_.unit)));
      if (surely_missed_ && (y <= surely_missed_->y || Value(y) == Value(surely_missed_->y))) break;
      RETURN_IF_ERROR(Try(y));
      const bool missed = surely_missed_ && Value(surely_missed_->y) == Value(y);
      if (missed || y == least_) break;
    }
    return absl::OkStatus();
  }

  const std::optional<Point>& safe() const { return safe_; }
  const Answer& at_safe() const { return at_safe_; }
  bool has_missed() const { return missed_.has_value(); }

  // In x's own terms, from the safe value and one that surely misses (of whole numbers: short of
  // it).
  Interval Optimum() const {
    const double safe = Value(safe_->y);
    if (sign_ > 0) return {surely_missed_ ? Value(surely_missed_->y) : family_.least, safe};
    return {safe, surely_missed_ ? Value(surely_missed_->y) - family_.unit : family_.greatest};
  }

 private:
  // Below by one gap, so that whoever asks again at the same gap, from an event whose parameters
  // went through other roundings, is not told a hair more than the target.
  bool IsSafe(const Answer& answer) const {
    return answer.value.upper() <= target_ * (1 - options_.relative_gap);
  }
  double Aim() const { return std::log(target_) + std::log1p(-options_.relative_gap); }
  bool WantedReached() const { return at_safe_.value.RelativeGap() <= options_.relative_gap; }
  // Another question, at the gap that is asked for, may say more.
  bool IsRough(const Answer& answer) const {
    return options_.relative_gap < kFirstGap &&
           answer.value.RelativeGap() > options_.relative_gap && answer.value.lower() > 0;
  }
  // On which side of the target a value is.
  bool Tells(const Answer& answer) const {
    return answer.value.lower() > target_ || IsSafe(answer);
  }

  // At least `step`, farther where ε is far from the target: ε falls about as fast as e^{-y}, or as
  // its square root.
  double Step(const Point& from, double step) const {
    const double far = std::fabs(from.log_epsilon - std::log(target_));
    return std::isfinite(far) ? std::clamp(1.05 * far, step, 3.0) : std::fmax(step, 0.7);
  }

  // How many units, about, are left open by the bounds on ε themselves.
  double UnitsInGap() const {
    const double gap = std::fmin(at_safe_.value.RelativeGap(), options_.relative_gap);
    return family_.unit > 0 ? gap * Value(safe_->y) / family_.unit : 0;
  }

  bool Closed(double tolerance) const {
    if (family_.unit > 0) {
      return std::fabs(Value(safe_->y) - Value(missed_->y)) <=
             family_.unit * std::fmax(1.5, UnitsInGap() / 4);
    }
    return safe_->y - missed_->y <= tolerance;
  }

  // The middle on the scale of x where the ends are near, of log x where they are not.
  double Middle() const {
    const double a = Value(safe_->y), b = Value(missed_->y);
    return std::fabs(a - b) > 64 * family_.unit && std::fmax(a, b) > 2 * std::fmin(a, b)
               ? (safe_->y + missed_->y) / 2
               : Place((a + b) / 2);
  }

  // Where the chord meets the target, moved towards the end that is farther away so that the
  // bracket closes from both sides, and kept inside.
  double Guess(double tolerance) const {
    const double wide = safe_->y - missed_->y;
    const double rise = missed_->log_epsilon - safe_->log_epsilon;
    if (!std::isfinite(rise) || !(rise > 0)) return Middle();
    double share = std::clamp((Aim() - safe_->log_epsilon) / rise, 0.0, 1.0);  // from the safe end
    share += (share < 0.5 ? 0.4 : -0.4) * std::fmin(1, tolerance / wide);
    double y = safe_->y - wide * std::clamp(share, 0.02, 0.98);
    if (family_.unit > 0) {
      const double safe = Value(safe_->y), missed = Value(missed_->y), x = Value(y);
      if (x == safe) y = Place(safe + (missed > safe ? family_.unit : -family_.unit));
      if (x == missed) y = Place(missed + (safe > missed ? family_.unit : -family_.unit));
    }
    return y;
  }

  const Family& family_;
  const double sign_, target_, delta_;
  const Options& options_;
  const double least_, greatest_;  // of y
  std::optional<Point> safe_, missed_, surely_missed_;
  Answer at_safe_;
  bool hard_ = false;       // a gap that was asked for was not reached: another takes as long
  double excess_ = 0;       // by how much the wanted gap moved log ε where both were asked
  double effort_ = kTrial;  // of a question's work
  double slope_ = 0;        // by how much log ε falls with y, over the first bracket
};

// Whether ε grows with x, by two values that differ in it.
absl::StatusOr<bool> Grows(const Family& family, double delta, const Options& options) {
  if (family.grows.has_value()) return *family.grows;
  const auto at = [&](double x) -> absl::StatusOr<Interval> {
    if (family.unit > 0) x = std::nearbyint(x / family.unit) * family.unit;
    ASSIGN_OR_RETURN(const Composition composition,
                     family.at(std::clamp(x, family.least, family.greatest)));
    ASSIGN_OR_RETURN(const Answer answer, ComputeEpsilon(composition, delta, options));
    return answer.value;
  };
  ASSIGN_OR_RETURN(const Interval here, at(family.start));
  for (double factor = 2; factor < 1e6; factor *= factor) {
    for (const double x : {family.start * factor, family.start / factor}) {
      if (x < family.least || x > family.greatest) continue;
      ASSIGN_OR_RETURN(const Interval there, at(x));
      if (there.upper() != here.upper())
        return (there.upper() > here.upper()) == (x > family.start);
    }
  }
  return NoSolution("ε does not depend on the unknown");
}

}  // namespace

absl::StatusOr<Solution> Solve(const Family& family, double epsilon, double delta,
                               const Options& options) {
  ASSIGN_OR_RETURN(const bool grows, Grows(family, delta, options));
  Search search(family, grows, epsilon, delta, options);
  double start = search.Place(family.near.value_or(family.start));
  if (!family.near.has_value()) {
    // Rényi DP first where it has an answer: it is fast, and the true one is rarely more than a
    // third away.
    Options rough = options;
    rough.method = options.method == Method::kBest || options.method == Method::kPld
                       ? Method::kRdp
                       : options.method;
    Search by_rdp(family, grows, epsilon, delta, rough);
    if (const absl::Status found = by_rdp.Bracket(start); found.ok()) {
      if (by_rdp.has_missed()) RETURN_IF_ERROR(by_rdp.Narrow(kRough));
      start = by_rdp.safe()->y;
    } else if (absl::IsInvalidArgument(found) || absl::IsDeadlineExceeded(found) ||
               absl::IsCancelled(found)) {
      return found;  // (else another method may still answer: the Rényi conversion has a floor)
    }
  }

  RETURN_IF_ERROR(search.Bracket(start));
  const double tolerance = options.relative_gap / 8;
  if (search.has_missed()) {
    RETURN_IF_ERROR(search.Narrow(tolerance, std::fmax(tolerance, kTrialTolerance)));
  }
  RETURN_IF_ERROR(search.Settle(tolerance));
  RETURN_IF_ERROR(search.FindMiss());
  return Solution{search.Value(search.safe()->y), search.Optimum(), search.at_safe()};
}

}  // namespace dpledger::accountant
