// The calls of AccountingService, for whoever knows what a question's subject is: the server, with
// its ledgers, and the accounting library, with events alone. Both give the same answer because
// both call these functions; proto/dpledger/v1/accounting_service.proto says what each means.
//
// Each refuses fields that this version does not know, gathers the subject, and answers as
// questions.h and profile_questions.h say. Functions; thread safe.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "questions/answers.h"

namespace dpledger::questions {

// Makes of a question's subject, and the group size that it states (0: none), what the accountant
// needs. Errors name fields of the subject.
using Gather =
    std::function<absl::StatusOr<Subject>(const v1::Subject& subject, uint64_t group_size)>;

absl::StatusOr<v1::ComputeEpsilonResponse> AnswerCall(const v1::ComputeEpsilonRequest& request,
                                                      const Gather& gather,
                                                      const accountant::Limits& limits);
absl::StatusOr<v1::ComputeDeltaResponse> AnswerCall(const v1::ComputeDeltaRequest& request,
                                                    const Gather& gather,
                                                    const accountant::Limits& limits);
// Without a subject, the data have been through nothing yet.
absl::StatusOr<v1::CalibrateResponse> AnswerCall(const v1::CalibrateRequest& request,
                                                 const Gather& gather,
                                                 const accountant::Limits& limits);
absl::StatusOr<v1::ComputeTuningCostResponse> AnswerCall(
    const v1::ComputeTuningCostRequest& request, const Gather& gather,
    const accountant::Limits& limits);
absl::StatusOr<v1::ComputeProfileResponse> AnswerCall(const v1::ComputeProfileRequest& request,
                                                      const Gather& gather,
                                                      const accountant::Limits& limits);
// Without a subject, the audit's bound alone.
absl::StatusOr<v1::AuditClaimResponse> AnswerCall(const v1::AuditClaimRequest& request,
                                                  const Gather& gather,
                                                  const accountant::Limits& limits);

}  // namespace dpledger::questions
