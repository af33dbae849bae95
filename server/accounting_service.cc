#include "server/accounting_service.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "base/status.h"
#include "events/field_checks.h"
#include "events/unknown_fields.h"
#include "ledger/profile_questions.h"
#include "ledger/questions.h"

namespace dpledger::server {

accountant::Limits AccountingService::LimitsOf(const CallContext& call) const {
  accountant::Limits limits;
  limits.deadline = std::min(call.deadline, absl::Now() + limits_.query_timeout);
  limits.cancelled = call.cancelled;
  return limits;
}

template <typename Request>
absl::StatusOr<accountant::Subject> AccountingService::SubjectOf(const Request& request,
                                                                 const accountant::Limits& limits) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  return events::Within(
      "subject", subjects_.Gather(request.subject(), request.options().group_size(), limits));
}

absl::StatusOr<v1::ComputeEpsilonResponse> AccountingService::ComputeEpsilon(
    const v1::ComputeEpsilonRequest& request, const CallContext& call) {
  const accountant::Limits limits = LimitsOf(call);
  ASSIGN_OR_RETURN(const accountant::Subject subject, SubjectOf(request, limits));
  return accountant::AnswerEpsilon(subject, request, limits);
}

absl::StatusOr<v1::ComputeDeltaResponse> AccountingService::ComputeDelta(
    const v1::ComputeDeltaRequest& request, const CallContext& call) {
  const accountant::Limits limits = LimitsOf(call);
  ASSIGN_OR_RETURN(const accountant::Subject subject, SubjectOf(request, limits));
  return accountant::AnswerDelta(subject, request, limits);
}

absl::StatusOr<v1::CalibrateResponse> AccountingService::Calibrate(
    const v1::CalibrateRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  return accountant::AnswerCalibrate(request, LimitsOf(call));
}

absl::StatusOr<v1::ComputeTuningCostResponse> AccountingService::ComputeTuningCost(
    const v1::ComputeTuningCostRequest& request, const CallContext& call) {
  const accountant::Limits limits = LimitsOf(call);
  ASSIGN_OR_RETURN(const accountant::Subject subject, SubjectOf(request, limits));
  return accountant::AnswerTuningCost(subject, request, limits);
}

absl::StatusOr<v1::ComputeProfileResponse> AccountingService::ComputeProfile(
    const v1::ComputeProfileRequest& request, const CallContext& call) {
  const accountant::Limits limits = LimitsOf(call);
  ASSIGN_OR_RETURN(const accountant::Subject subject, SubjectOf(request, limits));
  return accountant::AnswerProfile(subject, request, limits);
}

absl::StatusOr<v1::AuditClaimResponse> AccountingService::AuditClaim(
    const v1::AuditClaimRequest& request, const CallContext& call) {
  if (!request.has_subject()) {
    RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
    return accountant::AnswerAudit(request);
  }
  const accountant::Limits limits = LimitsOf(call);
  ASSIGN_OR_RETURN(const accountant::Subject subject, SubjectOf(request, limits));
  return accountant::AnswerAudit(subject, request, limits);
}

}  // namespace dpledger::server
