// Answers to questions about the whole privacy profile, and to audits of a claim, in the wire's
// messages. The server and the command line both answer through here, as for questions.h.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "questions/answers.h"

namespace dpledger::questions {

// INVALID_ARGUMENT, naming the field, also for a request that asks for nothing or gives both lists;
// otherwise as in questions.h. The request's own `subject` is not read.
absl::StatusOr<v1::ComputeProfileResponse> AnswerProfile(const Subject& subject,
                                                         const v1::ComputeProfileRequest& request,
                                                         const accountant::Limits& limits);

// Compares the audit's lower bound with the subject's ε. The request's own `subject` is not read.
absl::StatusOr<v1::AuditClaimResponse> AnswerAudit(const Subject& subject,
                                                   const v1::AuditClaimRequest& request,
                                                   const accountant::Limits& limits);
// The lower bound alone, compared with nothing. The request's options are not read.
absl::StatusOr<v1::AuditClaimResponse> AnswerAudit(const v1::AuditClaimRequest& request);

}  // namespace dpledger::questions
