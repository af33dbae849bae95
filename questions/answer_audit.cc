#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/accountant.h"
#include "accountant/audit/audit.h"
#include "accountant/gaussian/gaussian.h"
#include "accountant/numeric/rounding.h"
#include "accountant/profile/profile.h"
#include "base/status.h"
#include "questions/answers.h"
#include "questions/resolved_question.h"

namespace dpledger::questions {
namespace {

constexpr double kDefaultConfidence = 0.95;

// The points at which a subject's trade-off curve is read: each 4 % above the one before.
constexpr size_t kCurvePoints = 400;
constexpr double kLeastPoint = 1e-7;

// ε of the Gaussian mechanism of a μ, at δ, from below.
double GaussianEpsilonDown(double mu, double delta) {
  if (!(mu > 0)) return 0;
  if (delta == 0) return std::numeric_limits<double>::infinity();
  accountant::Composition composition;
  const double z = accountant::DivUp(1, mu);
  composition.steps.push_back({1, {z, z}, 1});
  return accountant::gaussian::Epsilon(composition, delta).lower();
}

// Whether the counts refute the trade-off curve of `composition`.
absl::StatusOr<bool> RefutesCurveOf(const accountant::Composition& composition,
                                    const accountant::audit::OneRun& run, double confidence,
                                    const accountant::Options& options) {
  std::vector<double> type_one;
  for (size_t i = 0; i < kCurvePoints; ++i) {
    const double share = static_cast<double>(i) / (kCurvePoints - 1);
    type_one.push_back(std::pow(kLeastPoint, 1 - share));
  }
  ASSIGN_OR_RETURN(const accountant::profile::TradeOff curve,
                   accountant::profile::ComputeTradeOff(composition, type_one, options));
  // A test that finds more than this under one input has more false alarms than type_one[i].
  std::vector<double> found(kCurvePoints);
  double least = 1;
  for (size_t i = kCurvePoints; i-- > 0;) {
    // f does not rise, though bounds on it may.
    if (i + 1 < kCurvePoints) least = found[i + 1];
    found[i] = std::fmin(least, accountant::AddUp(1, -curve.points[i].symmetric.lower()));
  }
  const auto least_other = [&](double x) {
    const auto above = std::lower_bound(found.begin(), found.end(), x);
    return above == found.begin() ? 0.0 : type_one[above - found.begin() - 1];
  };
  return accountant::audit::RefutesCurve(run, least_other, confidence);
}

accountant::audit::OneRun RunOf(const v1::OneRunAudit& run) {
  return {run.canaries(), run.guesses(), run.correct()};
}

// What the counts say by themselves.
absl::StatusOr<v1::AuditClaimResponse> Bound(const v1::AuditClaimRequest& request) {
  v1::AuditClaimResponse response;
  const double confidence = request.confidence() == 0 ? kDefaultConfidence : request.confidence();
  response.set_delta(request.delta());
  response.set_confidence(confidence);
  switch (request.evidence_case()) {
    case v1::AuditClaimRequest::kOneRun: {
      const v1::OneRunAudit& run = request.one_run();
      const absl::StatusOr<double> bound =
          accountant::audit::EpsilonLowerBound(RunOf(run), request.delta(), confidence);
      RETURN_IF_ERROR(bound.status());
      response.set_epsilon_lower_bound(*bound);
      if (run.guesses() <= accountant::audit::kGreatestCurveGuesses) {
        ASSIGN_OR_RETURN(const double mu,
                         accountant::audit::GaussianLowerBound(RunOf(run), confidence));
        response.mutable_curve()->set_gaussian_mu(mu);
        response.mutable_curve()->set_gaussian_epsilon(GaussianEpsilonDown(mu, request.delta()));
      }
      return response;
    }
    case v1::AuditClaimRequest::kManyRuns: {
      const v1::ManyRunsAudit& runs = request.many_runs();
      if (!(request.delta() >= 0 && request.delta() < 1)) {
        return FieldError("delta", absl::StrCat("must be in [0, 1), got ", request.delta()));
      }
      ASSIGN_OR_RETURN(
          const accountant::audit::ErrorRateBounds rates,
          accountant::audit::BoundErrorRates({runs.with_record(), runs.detected_with(),
                                              runs.without_record(), runs.detected_without()},
                                             confidence));
      response.mutable_observed()->set_type_one(rates.type_one);
      response.mutable_observed()->set_type_two(rates.type_two);
      response.set_epsilon_lower_bound(
          accountant::audit::EpsilonLowerBound(rates, request.delta()));
      return response;
    }
    case v1::AuditClaimRequest::EVIDENCE_NOT_SET:
      break;
  }
  return FieldError("evidence", "one of one_run, many_runs must be set");
}

void Assume(const v1::AuditClaimRequest& request, v1::AnswerDetails& details) {
  details.add_assumptions(
      request.has_one_run()
          ? "audit: every canary is one unit of privacy, was in or, as the adjacency means it, out "
            "by a fair coin of its own, and how many were guessed did not depend on the coins"
          : "audit: the runs are independent, of one mechanism on the same two inputs, neighbours "
            "as the adjacency means it, and the test was chosen beforehand");
}

}  // namespace

absl::StatusOr<v1::AuditClaimResponse> AnswerAlone(const v1::AuditClaimRequest& request,
                                                   const accountant::Limits&) {
  ASSIGN_OR_RETURN(v1::AuditClaimResponse response, Bound(request));
  response.mutable_details()->set_version(Version());
  Assume(request, *response.mutable_details());
  return response;
}

absl::StatusOr<v1::AuditClaimResponse> Answer(const Subject& subject,
                                              const v1::AuditClaimRequest& request,
                                              const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(v1::AuditClaimResponse response, Bound(request));
  RETURN_IF_ERROR(CheckNotPlanned(request.options()));
  ASSIGN_OR_RETURN(ResolvedQuestion question, Ask(subject, request.options(), limits));
  ASSIGN_OR_RETURN(
      const accountant::Answer claimed,
      accountant::ComputeEpsilon(question.composition, request.delta(), question.options));
  *response.mutable_claimed_epsilon() = ToProto(claimed.value);
  bool refuted = claimed.value.upper() < response.epsilon_lower_bound();
  Describe(claimed, question.details);
  if (response.has_observed()) {
    ASSIGN_OR_RETURN(const accountant::profile::TradeOff curve,
                     accountant::profile::ComputeTradeOff(
                         question.composition, {response.observed().type_one()}, question.options));
    const accountant::Interval& least = curve.points[0].symmetric;
    *response.mutable_claimed_type_two() = ToProto(least);
    refuted |= response.observed().type_two() < least.lower();
  }
  if (response.has_curve()) {
    ASSIGN_OR_RETURN(const bool curve_refuted,
                     RefutesCurveOf(question.composition, RunOf(request.one_run()),
                                    response.confidence(), question.options));
    response.mutable_curve()->set_refuted(curve_refuted);
    refuted |= curve_refuted;
  }
  response.set_refuted(refuted);
  PlanOf(subject, question.composition, question.details);
  Assume(request, question.details);
  *response.mutable_details() = std::move(question.details);
  return response;
}

}  // namespace dpledger::questions
