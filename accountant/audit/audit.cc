#include "accountant/audit/audit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "accountant/audit/binomial.h"
#include "accountant/limits.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"
#include "base/value_rules.h"

namespace dpledger::accountant::audit {
namespace {

constexpr double kGreatestLogOdds = 700;
constexpr double kTolerance = 1e-10;

absl::Status CheckConfidence(double confidence) {
  return rules::Must(confidence > 0 && confidence < 1, "be in (0, 1)", "confidence", confidence);
}

absl::Status CheckRun(const OneRun& run, uint64_t most_guesses, double confidence) {
  RETURN_IF_ERROR(CheckArithmetic());
  RETURN_IF_ERROR(rules::Count("canaries", run.canaries));
  RETURN_IF_ERROR(rules::WholeIn(1, std::min(run.canaries, most_guesses), "guesses", run.guesses));
  RETURN_IF_ERROR(rules::WholeIn(0, run.guesses, "correct", run.correct));
  return CheckConfidence(confidence);
}

// At most the least probability of any outcome of `guesses` guesses, if at least `correct` are
// right with probability `significance` (CLAIM.md, section 2): above 1, that is impossible.
double TotalDown(const OneRun& run, const std::function<double(double)>& least_other,
                 double significance) {
  // Of B_k <= P(at least k right): the current one, and the sum of those for greater k. Everything
  // grows with both, so that rounding down is on the safe side.
  const double canaries = static_cast<double>(run.canaries);
  double current = significance, above = 0;
  for (uint64_t k = run.correct; k > 0 && current <= 1; --k) {
    const double right = AddDown(MulDown(static_cast<double>(k), current), above);
    const double wrong = MulDown(canaries, least_other(std::fmax(0, DivDown(right, canaries))));
    above = AddDown(above, current);
    current = std::fmax(current,
                        DivDown(AddDown(wrong, above), static_cast<double>(run.guesses - k + 1)));
  }
  return current;
}

// Φ(Φ^{-1}(x) - mu) from below, x in [0, 1].
double GaussianOther(double mu, double x) {
  if (!(x > 1e-290)) return 0;
  x = std::fmin(x, 1 - kUnitRoundoff);
  // A t with P(N > t) <= x.
  double t = NormalTailInverse(x);
  for (double more = 1e-9; NormalTail(t) * (1 + 2 * kNormalTailError) > x; more *= 2) {
    t += more * (1 + std::fabs(t));
  }
  return NormalTail(AddUp(t, mu)) * (1 - 2 * kNormalTailError);
}

// A value at which `refuted`, which tends to fall, was seen to be positive, the largest that a
// bracketing search finds from `low` upwards; `low` itself if it is not positive there.
template <typename F>
double LastPositive(F refuted, double low) {
  if (!(refuted(low) > 0)) return low;
  double seen = low;
  for (double step = 1; seen < kGreatestLogOdds; step *= 2) {
    const double next = std::fmin(kGreatestLogOdds, low + step);
    if (!(refuted(next) > 0)) return BracketDecreasing(refuted, seen, next, kTolerance).first;
    seen = next;
  }
  return seen;
}

// A p of which it is sure that P(Bin(trials, p) >= successes) <= significance: with probability at
// most `significance` it exceeds the true one. 0 if there is none above e^-700.
double SuccessProbabilityDown(uint64_t trials, uint64_t successes, double significance) {
  const auto refuted = [&](double log_odds) {
    return significance - Binomial(trials, log_odds).UpperTail(successes).upper();
  };
  if (successes == 0 || !(refuted(-kGreatestLogOdds) > 0)) return 0;
  const double log_odds = LastPositive(refuted, -kGreatestLogOdds);
  return std::fmax(0, DivDown(1, AddUp(1, ExpUp(-log_odds))));
}

}  // namespace

double PValue(const OneRun& run, double epsilon, double delta) {
  const Binomial right(run.guesses, epsilon);
  const double mean = delta > 0 ? right.GreatestMeanBelow(run.correct) : 0;
  const double extra = MulUp(MulUp(2 * static_cast<double>(run.canaries), delta), mean);
  return std::fmin(1, AddUp(right.UpperTail(run.correct).upper(), extra));
}

absl::StatusOr<double> EpsilonLowerBound(const OneRun& run, double delta, double confidence) {
  RETURN_IF_ERROR(CheckRun(run, kGreatestTrials, confidence));
  RETURN_IF_ERROR(rules::Must(delta >= 0 && delta < 1, "be in [0, 1)", "delta", delta));
  const double significance = NextDown(1 - confidence);
  const auto refuted = [&](double epsilon) { return significance - PValue(run, epsilon, delta); };
  return LastPositive(refuted, 0);
}

absl::StatusOr<bool> RefutesCurve(const OneRun& run,
                                  const std::function<double(double x)>& least_other,
                                  double confidence) {
  RETURN_IF_ERROR(CheckRun(run, kGreatestCurveGuesses, confidence));
  return TotalDown(run, least_other, NextDown(1 - confidence)) > 1;
}

absl::StatusOr<double> GaussianLowerBound(const OneRun& run, double confidence) {
  RETURN_IF_ERROR(CheckRun(run, kGreatestCurveGuesses, confidence));
  const double significance = NextDown(1 - confidence);
  const auto refuted = [&](double mu) {
    return TotalDown(
               run, [mu](double x) { return GaussianOther(mu, x); }, significance) -
           1;
  };
  return LastPositive(refuted, 0);
}

absl::StatusOr<ErrorRateBounds> BoundErrorRates(const ManyRuns& runs, double confidence) {
  RETURN_IF_ERROR(CheckArithmetic());
  RETURN_IF_ERROR(rules::WholeIn(1, kGreatestTrials, "with_record", runs.with_record));
  RETURN_IF_ERROR(rules::WholeIn(0, runs.with_record, "detected_with", runs.detected_with));
  RETURN_IF_ERROR(rules::WholeIn(1, kGreatestTrials, "without_record", runs.without_record));
  RETURN_IF_ERROR(
      rules::WholeIn(0, runs.without_record, "detected_without", runs.detected_without));
  RETURN_IF_ERROR(CheckConfidence(confidence));
  const double each = NextDown((1 - confidence) / 2);
  const double silent_without = SuccessProbabilityDown(
      runs.without_record, runs.without_record - runs.detected_without, each);
  const double detected_with = SuccessProbabilityDown(runs.with_record, runs.detected_with, each);
  return ErrorRateBounds{NextUp(1 - silent_without), NextUp(1 - detected_with)};
}

double EpsilonLowerBound(const ErrorRateBounds& rates, double delta) {
  const auto from = [&](double one, double other) {
    const double rest = AddDown(AddDown(1, -delta), -other);
    if (!(rest > 0)) return 0.0;
    if (!(one > 0)) return std::numeric_limits<double>::infinity();
    return LogDown(DivDown(rest, one));
  };
  return std::fmax(
      0, std::fmax(from(rates.type_one, rates.type_two), from(rates.type_two, rates.type_one)));
}

}  // namespace dpledger::accountant::audit
