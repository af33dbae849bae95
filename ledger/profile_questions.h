// Questions about the whole profile, and what audits say of it, in the wire's messages. As
// questions.h: both doors answer through here.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger/questions.h"

namespace dpledger::accountant {

// INVALID_ARGUMENT naming the field, or for a request that asks for nothing or gives both lists;
// otherwise as the questions of questions.h. The request's own `subject` is not read.
absl::StatusOr<v1::ComputeProfileResponse> AnswerProfile(const Subject& subject,
                                                         const v1::ComputeProfileRequest& request,
                                                         const Limits& limits);

// Compares with the subject's claim. The request's own `subject` is not read.
absl::StatusOr<v1::AuditClaimResponse> AnswerAudit(const Subject& subject,
                                                   const v1::AuditClaimRequest& request,
                                                   const Limits& limits);
// The bound alone; options must be empty.
absl::StatusOr<v1::AuditClaimResponse> AnswerAudit(const v1::AuditClaimRequest& request);

}  // namespace dpledger::accountant
