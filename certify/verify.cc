#include "certify/verify.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "certify/best_of_runs.h"
#include "certify/finder.h"
#include "certify/proof.h"

namespace dpledger::certify {
namespace {

constexpr slong kClosedBits = 512;
constexpr slong kSpareBits = 64;
constexpr int kTries = 7;
constexpr double kUnknownGap = 1e-6;

// Bits for so many runs, and for errors of `tolerance`.
slong BitsFor(const Composition& of, double tolerance) {
  double most = 1;
  for (const SampledGaussian& step : of.sampled) most = std::fmax(most, step.count);
  for (const Pair& pair : of.pairs) most = std::fmax(most, pair.count);
  return kSpareBits + static_cast<slong>(std::log2(most) - std::log2(tolerance));
}

enum class End { kUpper, kLower };

// Of what is released: all that the events say, or of several such runs the best.
class Released {
 public:
  Released(const Claimed& history, const Claim& claim, End end)
      : of_(end == End::kUpper ? history.above : history.below),
        close_(history.close),
        is_partial_(end == End::kLower && history.is_partial),
        claim_(claim),
        end_(end) {
    if (claim.trials) best_.emplace(of_, *claim.trials);
  }

  Bounds Against(double delta, Direction direction, double epsilon) {
    if (!best_) return OfAll(of_, delta, direction, epsilon);
    const Trials& trials = *claim_.trials;
    Bounds known;
    // At most what all runs show that there can be; at least what one shows, where there is one.
    if (end_ == End::kUpper && trials.most) {
      const std::optional<Composition> all = AllOf(of_, *trials.most);
      if (all) known.upper = OfAll(*all, delta, direction, epsilon).upper;
    } else if (end_ == End::kLower && trials.always) {
      known.lower = OfAll(of_, delta, direction, epsilon).lower;
    }
    if (CertainlyAtMost(known.upper, delta) || CertainlyLess(delta, known.lower)) return known;
    if (is_partial_) return known;  // section 6 takes both laws whole
    const Bounds found = best_->Against(delta, direction, epsilon, end_ == End::kUpper);
    return {Max(known.lower, found.lower), Min(known.upper, found.upper)};
  }
  // The δ of the given direction falls up to here at least.
  bool FallsAt(Direction direction, double epsilon) const {
    return !best_ && CertainlyAtMost(epsilon, GreatestLoss(of_, direction));
  }
  bool EndsBelow(Direction direction, double epsilon) const {
    return !best_ && CertainlyLess(GreatestLoss(of_, direction), epsilon);
  }

 private:
  // Bounds on δ of all in one direction, good enough to tell it from `delta` where that can be.
  Bounds OfAll(const Composition& of, double delta, Direction direction, double epsilon) const {
    const Ball mass = InfiniteMass(of, direction);
    if (CertainlyAtMost(GreatestLoss(of, direction), epsilon)) return {mass, mass};
    {
      const Bits wide(kClosedBits);
      const Ball exact = ClosedDelta(of, direction, epsilon);
      if (exact.IsFinite()) return {exact, exact};
    }
    const Finder finder(of, direction, epsilon);
    Bounds best = {mass, 1.0};
    if (end_ == End::kUpper) {
      const Bits some(BitsFor(of, 1e-10));
      const Ball log_delta = LogChernoff(of, direction, epsilon, finder.BestOrder());
      if (log_delta.IsFinite()) best.upper = Min(Exp(log_delta) + mass, 1.0);
    }
    // A fiftieth of what lies between the ends, in the logarithm of δ.
    double gap = claim_.about == Claim::About::kEpsilon
                     ? finder.tilt() * (claim_.upper - claim_.lower)
                     : (claim_.upper - claim_.lower) / claim_.upper;
    // Where the ends are those of two mechanisms, the gap says nothing of how close either is.
    if (!close_ || best_) gap = std::fmin(gap, kUnknownGap);
    double tolerance = gap > 0 ? std::clamp(gap / 50, 1e-16, 0.02) : 0.02;
    double smoothing = 4 * tolerance;
    for (int i = 0; i < kTries && of.curves.empty(); ++i, tolerance /= 10, smoothing /= 100) {
      if (CertainlyAtMost(best.upper, delta) || CertainlyAtMost(delta, best.lower)) break;
      const std::optional<Line> line = finder.FindLine(tolerance, smoothing);
      if (!line) break;
      const Bits enough(BitsFor(of, tolerance));
      const Bounds found = OnLine(of, direction, epsilon, *line);
      best = {Max(best.lower, found.lower), Min(best.upper, found.upper)};
    }
    return best;
  }

  const Composition& of_;
  bool close_, is_partial_;
  const Claim& claim_;
  End end_;
  std::optional<BestOfRuns> best_;
};

std::string Found(const std::string& statement, Direction direction, const Bounds& bounds) {
  return absl::StrCat(statement, " (", direction == Direction::kRemove ? "remove" : "add",
                      ": it is in [", bounds.lower.Text(), ", ", bounds.upper.Text(), "])");
}

// What the other composition says, where both enclose what was released.
Bounds Enclosing(const Claimed& history, const Claim& claim, End end, Direction direction,
                 double epsilon, double delta) {
  if (!history.close) return {};
  return Released(history, claim, end).Against(delta, direction, epsilon);
}

// δ(ε) <= delta, in both directions.
Finding AtMost(const Claimed& history, double epsilon, double delta, const Claim& claim) {
  const std::string statement = absl::StrFormat("delta(%.17g) <= %.17g", epsilon, delta);
  if (epsilon == HUGE_VAL || delta >= 1) return {Verdict::kProved, statement};
  Finding open;
  Released released(history, claim, End::kUpper);
  for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
    const Bounds bounds = released.Against(delta, direction, epsilon);
    if (CertainlyAtMost(bounds.upper, delta)) continue;
    open.words = Found(statement, direction, bounds);
    // What is but a bound may be that of a mechanism which costs less.
    const Bounds least = history.reached
                             ? bounds
                             : Enclosing(history, claim, End::kLower, direction, epsilon, delta);
    if (CertainlyLess(delta, least.lower)) return {Verdict::kRefuted, open.words};
  }
  return open.words.empty() ? Finding{Verdict::kProved, statement} : open;
}

// δ(ε) >= delta, in some direction; for a lower end of ε, δ > delta everywhere below it.
Finding AtLeast(const Claimed& history, double epsilon, double delta, const Claim& claim) {
  const std::string statement = absl::StrFormat("delta(%.17g) >= %.17g", epsilon, delta);
  if (claim.about == Claim::About::kDelta ? delta <= 0 : epsilon <= 0)
    return {Verdict::kProved, statement};
  Finding found = {Verdict::kRefuted, {}};
  Released released(history, claim, End::kLower);
  for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
    const Bounds bounds = released.Against(delta, direction, epsilon);
    // δ falls up to the greatest loss, and stays what it is from there on.
    const bool falls = claim.about == Claim::About::kDelta || released.FallsAt(direction, epsilon);
    if (falls ? CertainlyAtMost(delta, bounds.lower) : CertainlyLess(delta, bounds.lower))
      return {Verdict::kProved, statement};
    // A bound may be that of a mechanism which costs more than the one below.
    const Bounds most = history.reached
                            ? bounds
                            : Enclosing(history, claim, End::kUpper, direction, epsilon, delta);
    const bool less = CertainlyLess(most.upper, delta) ||
                      (history.reached && released.EndsBelow(direction, epsilon) &&
                       CertainlyAtMost(bounds.upper, delta));
    if (!less) found.verdict = Verdict::kOpen;
    if (!less || found.words.empty()) found.words = Found(statement, direction, bounds);
  }
  return found;
}

}  // namespace

Closeness Claim::ClosenessAt(int turn) const {
  constexpr double kShare = 1e-5, kLeast = 1e-30;
  const double ignored = std::fmax(kLeast, kShare * (about == About::kEpsilon ? given : upper));
  return {ignored, (1L << 16) << (2 * turn)};
}

Finding CheckUpper(const Claimed& history, const Claim& claim) {
  return claim.about == Claim::About::kEpsilon ? AtMost(history, claim.upper, claim.given, claim)
                                               : AtMost(history, claim.given, claim.upper, claim);
}

Finding CheckLower(const Claimed& history, const Claim& claim) {
  return claim.about == Claim::About::kEpsilon ? AtLeast(history, claim.lower, claim.given, claim)
                                               : AtLeast(history, claim.given, claim.lower, claim);
}

}  // namespace dpledger::certify
