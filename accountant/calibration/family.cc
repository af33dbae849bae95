#include "accountant/calibration/family.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/calibration/tried.h"
#include "accountant/numeric/constants.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// Evaluations at most, of either search; they converge like a secant's, or by halving where that
// fails.
constexpr int kEvaluations = 120;
// The tolerance of the first, fast search.
constexpr double kRough = 0.02;
// The relative gap at which a value is tried first: most are farther than that from the target.
constexpr double kFirstGap = 0.01;
// Shares of a question's work on the loss grid: for a value that is tried, and for one near the
// solution. Twenty of the former and six of the latter take as long as one question.
constexpr double kTrial = 1.0 / 50, kFinal = 0.12;
// The same of a value near the solution, as long as the gaps asked for are reached: there are few.
constexpr double kNear = 0.06;
// The same of a contour by jumps, which takes less as it is asked for less.
constexpr double kJumps = 0.15;
// Values asked near the solution: where that is enough for the gap that is wanted, and where not.
constexpr int kFinalTries = 6, kFinalTriesWide = 3;
// The tolerance of trials if the gap that is wanted is out of their reach.
constexpr double kTrialTolerance = 5e-3;
// If log ε is farther off than kFarOff, Rényi DP says where to look. Steps towards the target: the
// least first one, and the factor by which a step goes beyond the expected place.
constexpr double kFarOff = 0.3, kFirstStep = 2e-3, kBeyond = 1.2;
// The longest steps: down to less ε where one or several values have been tried, and up to more,
// where ε rises ever faster and takes ever longer.
constexpr double kLongest = 3, kLongestKnown = 6, kLongestUp = 0.7;
// Roundings move log ε by about this.
constexpr double kApart = 1e-12;
// If bounds stay apart: values whose log ε differ by less than kTold of the distance between the
// bounds cannot be told apart, and a value within kMet of it meets the target.
constexpr double kTold = 0.1, kMet = 0.05;
// If bounds stay apart: the least gap to ask for, as a share of theirs, in trials and near the
// solution.
constexpr double kAskedInTrials = 0.2, kAskedNear = 0.1;
// Intervals at other values may be up to 1.4 times as wide.
constexpr double kApartElsewhere = 1.4;
// Distances at which a miss is looked for: the first, and the farthest. The farthest is nearer if
// bounds are farther apart than kWide: less noise takes ever longer there, and shows nothing.
constexpr double kFirstMiss = 0.7, kFarthestMiss = 3, kFarthestMissWide = 1, kWide = 0.3;

absl::Status NoSolution(absl::string_view what) {
  return WithReason(absl::FailedPreconditionError(what), {"NO_SOLUTION", {}});
}

// A value and its answer.
struct Answered {
  double x;
  Answer answer;
};

class Search {
 public:
  Search(const Family& family, bool grows, double epsilon, double delta, const Options& options)
      : family_(family),
        sign_(grows ? -1 : 1),
        delta_(delta),
        target_(epsilon),
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
    const double wanted = std::fmax(options_.relative_gap, hard_ ? share_ * least_gap_ : 0);
    const bool finely = hard_ || IsExpectedNear(y);
    Options asked = options_;
    asked.limits.max_grid_work *= finely && !hard_ ? std::fmax(effort_, kNear) : effort_;
    asked.limits.max_jump_work *= kJumps;
    std::optional<Composition> composition;
    const auto ask = [&](double gap) -> absl::StatusOr<Answer> {
      for (const Answered& known : answered_) {
        if (known.x == x && known.answer.value.RelativeGap() <= gap) return known.answer;
      }
      if (!composition.has_value()) {
        ASSIGN_OR_RETURN(composition, family_.at(x));
      }
      asked.relative_gap = gap;
      ASSIGN_OR_RETURN(Answer answer, ComputeEpsilon(*composition, delta_, asked));
      least_gap_ = std::fmin(least_gap_, answer.value.RelativeGap());
      hard_ |= answer.value.RelativeGap() > gap;
      answered_.push_back({x, answer});
      return answer;
    };
    ASSIGN_OR_RETURN(Answer answer, ask(finely ? wanted : std::fmax(kFirstGap, wanted)));
    Tried point{Place(x), std::log(answer.value.upper())};
    if (!finely && !hard_ && IsRough(answer)) {
      if (Tells(x, answer)) {
        point.log_epsilon += excess_;
      } else {
        const double first = point.log_epsilon;
        ASSIGN_OR_RETURN(answer, ask(wanted));
        point.log_epsilon = std::log(answer.value.upper());
        excess_ = point.log_epsilon - first;
      }
    }
    tried_.push_back(point);
    if (answer.value.lower() > target_ && (!surely_missed_ || point.y > surely_missed_->y)) {
      surely_missed_ = point;
    }
    if (IsSafe(x, answer)) {
      if (!safe_ || point.y <= safe_->y) {
        safe_ = point;
        at_safe_ = answer;
      }
    } else if (!missed_ || point.y > missed_->y) {
      missed_ = point;
    }
    return absl::OkStatus();
  }

  absl::Status Begin(double y) { return Try(std::clamp(y, least_, greatest_)); }
  // Whether the first value was no good guess.
  bool BeganFar() const { return !(std::fabs(tried_.front().log_epsilon - Aim()) < kFarOff); }
  // From where Begin tried: a value that meets the target and one that does not, by growing steps;
  // or one end of the domain.
  absl::Status Bracket() {
    for (double step = kFirstStep; !safe_ && missed_->y < greatest_; step *= 2.5) {
      const double longest = tried_.size() > 1 ? kLongestKnown : kLongest;
      RETURN_IF_ERROR(Try(std::fmin(greatest_, missed_->y + Step(*missed_, step, longest))));
    }
    if (!safe_) {
      return NoSolution(absl::StrCat("no value of the unknown meets the target: at ",
                                     Value(missed_->y), ", the safest, epsilon is at most ",
                                     std::exp(missed_->log_epsilon), ", and ", target_,
                                     " is wanted; raise the target, or lower what the rest costs"));
    }
    for (double step = kFirstStep; !missed_ && safe_->y > least_; step *= 2.5) {
      RETURN_IF_ERROR(Try(std::fmax(least_, safe_->y - Step(*safe_, step, kLongestUp))));
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

  // Asks for the safe value's ε at the gap that is wanted. If trials did not reach that gap, more
  // work lowers the upper bound. Then the search goes on, by the slope that trials showed, towards
  // the value at which that bound meets the target.
  absl::Status Settle(double tolerance) {
    effort_ = kFinal;
    share_ = kAskedNear;
    if (!hard_) {
      if (!IsRough(at_safe_)) return absl::OkStatus();
      hard_ = true;  // asks at once, and for the gap that is wanted
      share_ = 0;
      return Try(safe_->y);
    }
    const Tried safe = *safe_;
    const std::optional<Tried> missed = std::exchange(missed_, std::nullopt);
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
      if (left <= kMet * at_safe_.value.RelativeGap()) break;
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
    // From the safe value's bound to the target, and as far again as another's are apart.
    const double log_apart = std::log(target_) - safe_->log_epsilon + 0.1 * options_.relative_gap +
                             kApartElsewhere * at_safe_.value.RelativeGap() + kApart;
    share_ = kAskedInTrials;
    if (WantedReached()) effort_ = kTrial;
    const double first = log_apart / std::fmax(0.05, SlopeAt(safe_->y));
    const bool wide = at_safe_.value.RelativeGap() > kWide;
    for (double back = std::fmin(first, kFirstMiss);
         back < (wide ? kFarthestMissWide : kFarthestMiss); back *= 2) {
      double y = safe_->y - back;
      if (family_.unit > 0) {
        const double units = std::floor(std::fabs(Value(y) - safe) / family_.unit);
        y = Place(std::fmax(safe - sign_ * std::fmax(1, units) * family_.unit, family_.unit));
      }
      y = std::fmax(least_, y);
      if (family_.unit > 0 && Value(y) == Value(tried_.back().y)) continue;
      if (surely_missed_ && (y <= surely_missed_->y || Value(y) == Value(surely_missed_->y))) break;
      RETURN_IF_ERROR(Try(y));
      const bool missed = surely_missed_ && Value(surely_missed_->y) == Value(y);
      if (missed || y == least_) break;
    }
    return absl::OkStatus();
  }

  const std::optional<Tried>& safe() const { return safe_; }
  const Answer& at_safe() const { return at_safe_; }
  bool has_missed() const { return missed_.has_value(); }
  // Whether the safe value is the riskiest of all.
  bool IsUnbounded() const { return Value(safe_->y) == Value(least_); }
  const std::vector<Tried>& tried() const { return tried_; }
  // Looks for the value at which this method's ε is to the target as it is to another's where both
  // began.
  void AimAs(const Search& other) {
    const double ratio = std::exp(tried_.front().log_epsilon - other.tried_.front().log_epsilon);
    if (std::isfinite(ratio) && ratio > 0) target_ *= ratio;
  }
  // Points that another search tried, by another method.
  void Learn(const std::vector<Tried>& points) { rough_ = points; }

  // In x's own terms, from the safe value and one that surely misses (of whole numbers: short of
  // it).
  Interval Optimum() const {
    const double safe = Value(safe_->y);
    if (sign_ > 0) return {surely_missed_ ? Value(surely_missed_->y) : family_.least, safe};
    return {safe, surely_missed_ ? Value(surely_missed_->y) - family_.unit : family_.greatest};
  }

 private:
  // Below by one gap, so that whoever asks again at the same gap, from an event whose parameters
  // went through other roundings, is not told a hair more than the target. The safest value of all
  // is one end of the domain, which no rounding moves.
  bool IsSafe(double x, const Answer& answer) const {
    const double gap = x == Value(greatest_) ? 0 : options_.relative_gap;
    return answer.value.upper() <= target_ * (1 - gap);
  }
  double Aim() const { return std::log(target_) + std::log1p(-options_.relative_gap); }
  bool WantedReached() const { return at_safe_.value.RelativeGap() <= options_.relative_gap; }
  // Another question, at the gap that is asked for, may say more.
  bool IsRough(const Answer& answer) const {
    return options_.relative_gap < kFirstGap &&
           answer.value.RelativeGap() > options_.relative_gap && answer.value.lower() > 0;
  }
  // On which side of the target a value is.
  bool Tells(double x, const Answer& answer) const {
    return answer.value.lower() > target_ || IsSafe(x, answer);
  }

  // At least `step`, and beyond where the target is expected: with nothing to go by, ε falls about
  // as fast as e^{-y}.
  double Step(const Tried& from, double step, double longest) const {
    const double far = std::fabs(from.log_epsilon - Aim());
    if (!std::isfinite(far)) return std::fmax(step, 0.7);
    return std::clamp(kBeyond * far / SlopeAt(from.y), step, std::fmax(step, longest));
  }
  double SlopeAt(double y) const {
    double slope = FallAt(tried_, y);
    if (slope == 0) slope = FallAt(rough_, y);
    return slope == 0 ? 1 : slope;
  }

  // About the number of units within the gap that is asked for.
  double UnitsInGap() const {
    return family_.unit > 0 ? options_.relative_gap * Value(safe_->y) / family_.unit : 0;
  }

  bool Closed(double tolerance) const {
    // Values much closer than their intervals are wide cannot be ordered: stop.
    const double apart = missed_->log_epsilon - safe_->log_epsilon;
    if (hard_ && at_safe_.value.lower() > 0 && apart < kTold * at_safe_.value.RelativeGap())
      return true;
    if (hard_ && Aim() - safe_->log_epsilon <= tolerance) return true;
    if (safe_->y - missed_->y <= tolerance) return true;
    return family_.unit > 0 && std::fabs(Value(safe_->y) - Value(missed_->y)) <=
                                   family_.unit * std::fmax(1.5, UnitsInGap() / 4);
  }

  // The middle on the scale of x where the ends are near, of log x where they are not.
  double Middle() const {
    const double a = Value(safe_->y), b = Value(missed_->y);
    return std::fabs(a - b) > 64 * family_.unit && std::fmax(a, b) > 2 * std::fmin(a, b)
               ? (safe_->y + missed_->y) / 2
               : Place((a + b) / 2);
  }

  // Whether the chord over the bracket is about the target at y.
  bool IsExpectedNear(double y) const {
    if (!safe_ || !missed_ || !(safe_->y > missed_->y)) return false;
    const double rise = missed_->log_epsilon - safe_->log_epsilon;
    const double at = safe_->log_epsilon + rise * (safe_->y - y) / (safe_->y - missed_->y);
    return std::fabs(at - Aim()) < 1.5 * kFirstGap;
  }

  double Guess(double tolerance) const {
    const std::optional<double> expected = Meets(*safe_, *missed_, tried_, Aim(), tolerance);
    if (!expected.has_value()) return Middle();
    if (family_.unit > 0) {
      const double safe = Value(safe_->y), missed = Value(missed_->y), x = Value(*expected);
      if (x == missed) return Place(missed + (safe > missed ? family_.unit : -family_.unit));
      if (x == safe) return Place(safe + (missed > safe ? family_.unit : -family_.unit));
    }
    return *expected;
  }

  const Family& family_;
  std::vector<Tried> tried_, rough_;
  std::vector<Answered> answered_;
  const double sign_, delta_;
  double target_;
  const Options& options_;
  const double least_, greatest_;  // of y
  std::optional<Tried> safe_, missed_, surely_missed_;
  Answer at_safe_;
  bool hard_ = false;     // a gap that was asked for was not reached: another takes as long
  double least_gap_ = 1;  // of all answers
  double share_ = kAskedInTrials;  // of least_gap_: where hard, no finer gap is asked for
  double excess_ = 0;              // by how much the wanted gap moved log ε where both were asked
  double effort_ = kTrial;         // of a question's work
  double slope_ = 0;               // by how much log ε falls with y, over the first bracket
};

// Whether ε grows with x, by two values in which it differs by more than the share `least`.
absl::StatusOr<bool> GrowsBy(double least, const Family& family, double delta,
                             const Options& options) {
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
      if (std::fabs(there.upper() - here.upper()) > least * here.upper())
        return (there.upper() > here.upper()) == (x > family.start);
    }
  }
  return NoSolution("ε does not depend on the unknown");
}

absl::StatusOr<bool> Grows(const Family& family, double delta, const Options& options) {
  if (family.grows.has_value()) return *family.grows;
  if (options.method == Method::kBest || options.method == Method::kPld) {
    // By Rényi DP, which is fast, where that shows it beyond what it is found to.
    Options rough = options;
    rough.method = Method::kRdp;
    const absl::StatusOr<bool> grows = GrowsBy(1e-6, family, delta, rough);
    if (grows.ok()) return grows;
  }
  return GrowsBy(0, family, delta, options);
}

}  // namespace

absl::StatusOr<Solution> Solve(const Family& family, double epsilon, double delta,
                               const Options& options) {
  // Here too: the search asks with gaps of its own, and would narrow without end for a negative
  // one.
  if (!(options.relative_gap >= 1e-9 && options.relative_gap <= 1)) {
    return FieldError("options.relative_gap",
                      absl::StrCat("must be in [1e-9, 1], got ", options.relative_gap));
  }
  ASSIGN_OR_RETURN(const bool grows, Grows(family, delta, options));
  Search search(family, grows, epsilon, delta, options);
  double start = search.Place(family.near.value_or(family.start));
  if (family.near.has_value()) RETURN_IF_ERROR(search.Begin(start));
  if (!family.near.has_value() || search.BeganFar()) {
    // Rényi DP first where it has an answer: it is fast, and the true one is rarely more than a
    // third away.
    Options rough = options;
    rough.method = options.method == Method::kBest || options.method == Method::kPld
                       ? Method::kRdp
                       : options.method;
    Search by_rdp(family, grows, epsilon, delta, rough);
    absl::Status found = by_rdp.Begin(start);
    if (found.ok()) {
      if (family.near.has_value()) by_rdp.AimAs(search);
      found = by_rdp.Bracket();
    }
    if (found.ok()) {
      if (by_rdp.has_missed()) RETURN_IF_ERROR(by_rdp.Narrow(kRough));
      start = by_rdp.safe()->y;
      search.Learn(by_rdp.tried());
      RETURN_IF_ERROR(search.Begin(start));
    } else if (absl::IsInvalidArgument(found) || absl::IsDeadlineExceeded(found) ||
               absl::IsCancelled(found)) {
      return found;
    } else if (!family.near.has_value()) {
      // Another method may still answer: the Rényi conversion has a floor.
      RETURN_IF_ERROR(search.Begin(start));
    }
  }
  RETURN_IF_ERROR(search.Bracket());

  const double tolerance = options.relative_gap / 8;
  if (search.has_missed()) {
    RETURN_IF_ERROR(search.Narrow(tolerance, std::fmax(tolerance, kTrialTolerance)));
  }
  RETURN_IF_ERROR(search.Settle(tolerance));
  RETURN_IF_ERROR(search.FindMiss());
  Solution solution{search.Value(search.safe()->y), search.Optimum(), search.at_safe()};
  if (search.IsUnbounded()) {
    solution.epsilon.warnings.push_back(
        absl::StrCat("the target does not bound the unknown: every value meets it, ",
                     grows ? "up to " : "down to ", solution.value, ", the last that is tried"));
  }
  return solution;
}

}  // namespace dpledger::accountant
