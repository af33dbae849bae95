#include "questions/calls.h"

#include "base/status.h"
#include "events/field_checks.h"
#include "events/unknown_fields.h"
#include "questions/answer_profile.h"

namespace dpledger::questions {
namespace {

template <typename Request>
absl::StatusOr<Subject> SubjectOf(const Request& request, const Gather& gather) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  return events::Within("subject", gather(request.subject(), request.options().group_size()));
}

}  // namespace

absl::StatusOr<v1::ComputeEpsilonResponse> AnswerCall(const v1::ComputeEpsilonRequest& request,
                                                      const Gather& gather,
                                                      const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(const Subject subject, SubjectOf(request, gather));
  return AnswerEpsilon(subject, request, limits);
}

absl::StatusOr<v1::ComputeDeltaResponse> AnswerCall(const v1::ComputeDeltaRequest& request,
                                                    const Gather& gather,
                                                    const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(const Subject subject, SubjectOf(request, gather));
  return AnswerDelta(subject, request, limits);
}

absl::StatusOr<v1::CalibrateResponse> AnswerCall(const v1::CalibrateRequest& request,
                                                 const Gather& gather,
                                                 const accountant::Limits& limits) {
  if (!request.has_subject()) {
    RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
    return AnswerCalibrate(Subject(), request, limits);
  }
  ASSIGN_OR_RETURN(const Subject spent, SubjectOf(request, gather));
  return AnswerCalibrate(spent, request, limits);
}

absl::StatusOr<v1::ComputeTuningCostResponse> AnswerCall(
    const v1::ComputeTuningCostRequest& request, const Gather& gather,
    const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(const Subject subject, SubjectOf(request, gather));
  return AnswerTuningCost(subject, request, limits);
}

absl::StatusOr<v1::ComputeProfileResponse> AnswerCall(const v1::ComputeProfileRequest& request,
                                                      const Gather& gather,
                                                      const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(const Subject subject, SubjectOf(request, gather));
  return AnswerProfile(subject, request, limits);
}

absl::StatusOr<v1::AuditClaimResponse> AnswerCall(const v1::AuditClaimRequest& request,
                                                  const Gather& gather,
                                                  const accountant::Limits& limits) {
  if (!request.has_subject()) {
    RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
    return AnswerAudit(request);
  }
  ASSIGN_OR_RETURN(const Subject subject, SubjectOf(request, gather));
  return AnswerAudit(subject, request, limits);
}

}  // namespace dpledger::questions
