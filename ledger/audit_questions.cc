#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/accountant.h"
#include "accountant/audit/audit.h"
#include "accountant/profile/profile.h"
#include "base/status.h"
#include "ledger/profile_questions.h"
#include "ledger/question.h"

namespace dpledger::accountant {
namespace {

constexpr double kDefaultConfidence = 0.95;

// What the counts say by themselves.
absl::StatusOr<v1::AuditClaimResponse> Bound(const v1::AuditClaimRequest& request) {
  v1::AuditClaimResponse response;
  const double confidence = request.confidence() == 0 ? kDefaultConfidence : request.confidence();
  response.set_delta(request.delta());
  response.set_confidence(confidence);
  switch (request.evidence_case()) {
    case v1::AuditClaimRequest::kOneRun: {
      const v1::OneRunAudit& run = request.one_run();
      const absl::StatusOr<double> bound = audit::EpsilonLowerBound(
          audit::OneRun{run.canaries(), run.guesses(), run.correct()}, request.delta(), confidence);
      RETURN_IF_ERROR(bound.status());
      response.set_epsilon_lower_bound(*bound);
      return response;
    }
    case v1::AuditClaimRequest::kManyRuns: {
      const v1::ManyRunsAudit& runs = request.many_runs();
      if (!(request.delta() >= 0 && request.delta() < 1)) {
        return FieldError("delta", absl::StrCat("must be in [0, 1), got ", request.delta()));
      }
      ASSIGN_OR_RETURN(const audit::ErrorRateBounds rates,
                       audit::BoundErrorRates({runs.with_record(), runs.detected_with(),
                                               runs.without_record(), runs.detected_without()},
                                              confidence));
      response.mutable_observed()->set_type_one(rates.type_one);
      response.mutable_observed()->set_type_two(rates.type_two);
      response.set_epsilon_lower_bound(audit::EpsilonLowerBound(rates, request.delta()));
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

absl::StatusOr<v1::AuditClaimResponse> AnswerAudit(const v1::AuditClaimRequest& request) {
  ASSIGN_OR_RETURN(v1::AuditClaimResponse response, Bound(request));
  response.mutable_details()->set_version(Version());
  Assume(request, *response.mutable_details());
  return response;
}

absl::StatusOr<v1::AuditClaimResponse> AnswerAudit(const Subject& subject,
                                                   const v1::AuditClaimRequest& request,
                                                   const Limits& limits) {
  ASSIGN_OR_RETURN(v1::AuditClaimResponse response, Bound(request));
  ASSIGN_OR_RETURN(Question question, Ask(subject, request.options(), limits));
  ASSIGN_OR_RETURN(const Answer claimed,
                   ComputeEpsilon(question.composition, request.delta(), question.options));
  *response.mutable_claimed_epsilon() = ToProto(claimed.value);
  bool refuted = claimed.value.upper < response.epsilon_lower_bound();
  Describe(claimed, question.details);
  if (response.has_observed()) {
    ASSIGN_OR_RETURN(const profile::TradeOff curve,
                     profile::ComputeTradeOff(question.composition,
                                              {response.observed().type_one()}, question.options));
    const Interval& least = curve.points[0].symmetric;
    *response.mutable_claimed_type_two() = ToProto(least);
    refuted |= response.observed().type_two() < least.lower;
  }
  response.set_refuted(refuted);
  PlanOf(subject, question.composition, question.details);
  Assume(request, question.details);
  *response.mutable_details() = std::move(question.details);
  return response;
}

}  // namespace dpledger::accountant
