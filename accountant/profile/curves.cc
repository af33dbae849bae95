// The two questions that choose their own ε: each starts from a few and adds one wherever the bound
// is widest, until it is narrow enough or the number of ε has reached its bound.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/rounding.h"
#include "accountant/profile/profile.h"
#include "accountant/profile/sampled_profile.h"
#include "base/status.h"

namespace dpledger::accountant::profile {
namespace {

constexpr size_t kFirstPoints = 24;
constexpr size_t kMostPoints = 320;
constexpr int kMostRounds = 8;
// Two ε nearer than this, relatively in e^ε, are told apart by their δ's rounding alone.
constexpr double kNearest = 1e-6;
constexpr double kNearestInFit = 1e-4;
// An interval narrower than this, relatively or absolutely, is narrow enough.
constexpr double kRelativeGap = 1e-3;
constexpr double kAbsoluteGap = 1e-12;
constexpr double kRegretGap = 2e-3;
// Where δ is added to 1, its bounds may be apart by this part of the gap that is wanted.
constexpr double kEnough = 0.1;

// Said where a curve that is answered could have been narrower.
constexpr char kOutOfTime[] =
    "time ran out before the curve was as narrow as it can be; it is valid, and wider";

bool Narrow(const Interval& interval) {
  return interval.upper() - interval.lower() <=
         std::fmax(kAbsoluteGap, kRelativeGap * interval.upper());
}

// The ε between which a segment of a risk function lies: its points are e^-ε, 1, e^ε of the same ε
// in order. The first and the last segment ask for a larger ε than any.
void AddBetween(const RiskFunction& risk, size_t segment, double greatest,
                std::set<double>& wanted) {
  if (segment == 0 || segment == risk.size()) {
    if (greatest < kGreatestEpsilon) {
      wanted.insert(std::fmin(kGreatestEpsilon, 1.5 * greatest + 1));
    }
    return;
  }
  const double from = risk.points()[segment - 1].x, to = risk.points()[segment].x;
  if (to <= from * (1 + kNearest)) return;
  wanted.insert(std::fabs(0.5 * (std::log(from) + std::log(to))));
}

// The farthest ε to sample the curve at first: δ there is well below every α asked for.
absl::StatusOr<double> FirstReach(const Composition& composition, double least_alpha,
                                  const Options& options) {
  ASSIGN_OR_RETURN(const Answer answer,
                   ComputeEpsilon(composition, 1e-3 * std::fmax(least_alpha, 1e-12), options));
  return std::isfinite(answer.value.upper())
             ? std::clamp(answer.value.upper(), 0.1, kGreatestEpsilon)
             : 20;
}

}  // namespace

absl::StatusOr<TradeOff> ComputeTradeOff(const Composition& composition,
                                         const std::vector<double>& type_one_errors,
                                         const Options& options) {
  RETURN_IF_ERROR(CheckPoints(
      "type_one_errors", type_one_errors, [](double x) { return x >= 0 && x <= 1; },
      "must be in [0, 1]"));
  double least_alpha = 1;
  for (const double alpha : type_one_errors) {
    if (alpha > 0) least_alpha = std::fmin(least_alpha, alpha);
  }
  ASSIGN_OR_RETURN(const double reach, FirstReach(composition, least_alpha, options));
  // Beside 1, where it counts, less than the unit roundoff is nothing.
  SampledProfile profile(composition, options, kUnitRoundoff, kEnough * options.relative_gap);
  for (size_t i = 0; i < kFirstPoints; ++i) {
    // Closer together near 0, where most of the curve is.
    const double share = static_cast<double>(i) / (kFirstPoints - 1);
    RETURN_IF_ERROR(profile.Sample(reach * share * (1 + share) / 2));
  }
  TradeOff result;
  for (int round = 0;; ++round) {
    const RiskFunction remove = profile.Remove(), add = profile.Add(),
                       symmetric = profile.Symmetric();
    std::set<double> wanted;
    const auto read = [&](const RiskFunction& risk, double alpha) {
      size_t widest = 0;
      const Interval error = risk.TypeTwoError(alpha, &widest);
      if (!Narrow(error)) AddBetween(risk, widest, profile.greatest_epsilon(), wanted);
      return error;
    };
    result.points.clear();
    for (const double alpha : type_one_errors) {
      result.points.push_back(
          {alpha, read(remove, alpha), read(add, alpha), read(symmetric, alpha)});
    }
    if (wanted.empty() || round == kMostRounds) break;
    const size_t before = profile.size();
    absl::Status sampled;
    for (const double epsilon : wanted) {
      if (sampled.ok() && profile.size() < kMostPoints) sampled = profile.Sample(epsilon);
    }
    if (absl::IsDeadlineExceeded(sampled)) {
      result.origin.warnings.push_back(kOutOfTime);
      break;
    }
    RETURN_IF_ERROR(sampled);
    if (profile.size() == before) break;
  }
  result.origin.Add(profile.origin());
  return result;
}

absl::StatusOr<GaussianSummary> ComputeGaussianFit(const Composition& composition,
                                                   double least_delta, const Options& options) {
  if (!(least_delta > 0 && least_delta < kGreatestFitDelta)) {
    return FieldError("least_delta",
                      absl::StrCat("must be in (0, ", kGreatestFitDelta, "), got ", least_delta));
  }
  GaussianSummary summary;
  Origin& origin = summary.origin;
  ASSIGN_OR_RETURN(const Answer end, ComputeEpsilon(composition, least_delta, options));
  origin.Add(end);
  ASSIGN_OR_RETURN(const Answer start, ComputeEpsilon(composition, kGreatestFitDelta, options));
  origin.Add(start);
  const double infinity = std::numeric_limits<double>::infinity();
  if (end.value.upper() > kGreatestEpsilon) {
    // No Gaussian is as revealing as what no ε bounds; where doubles end, none is found.
    summary.fit = {
        {std::isinf(end.value.lower()) ? infinity : 0, infinity}, {0, 1}, least_delta, 1};
    return summary;
  }
  if (end.value.upper() == 0) {
    summary.fit = {{0, 0}, {0, 0}, least_delta, 1};
    return summary;
  }
  // A millionth of every δ in the range does not decide which direction is the worse.
  SampledProfile profile(composition, options, 1e-6 * least_delta, /*enough=*/0);
  // Any ε may be the first, and any past the true one the last.
  const double last = std::fmax(end.value.upper(), 1e-6);
  const double first = std::fmin(start.value.upper(), 0.9 * last);
  for (size_t i = 0; i + 1 < kFirstPoints; ++i) {
    const double share = static_cast<double>(i) / (kFirstPoints - 1);
    RETURN_IF_ERROR(profile.Sample(first + (last - first) * share));
  }
  RETURN_IF_ERROR(profile.Sample(last));
  while (true) {
    const std::vector<ProfilePoint> points = profile.Worse();
    summary.fit = FitGaussian(points, least_delta);
    const GaussianFit& fit = summary.fit;
    const bool narrow = Narrow(fit.mu);
    const bool done = narrow && fit.regret.upper() - fit.regret.lower() <= kRegretGap;
    const size_t widest = narrow ? fit.widest_regret : fit.widest_mu;
    const double from = points[widest].epsilon, to = points[widest + 1].epsilon;
    if (done || points.size() >= kMostPoints || to - from <= kNearestInFit) break;
    const absl::Status sampled = profile.Sample(0.5 * (from + to));
    if (absl::IsDeadlineExceeded(sampled)) {
      origin.warnings.push_back(kOutOfTime);
      break;
    }
    RETURN_IF_ERROR(sampled);
  }
  origin.Add(profile.origin());
  return summary;
}

}  // namespace dpledger::accountant::profile
