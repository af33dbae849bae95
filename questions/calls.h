// The calls of AccountingService, for whoever knows what a question's subject is: the server, with
// its ledgers, and the accounting library, with events alone. Both give the same answer because
// both call this function; proto/dpledger/v1/accounting_service.proto says what each means.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "base/status.h"
#include "events/field_checks.h"
#include "events/unknown_fields.h"
#include "questions/answers.h"

namespace dpledger::questions {

// Refuses fields that this version does not know, gathers the subject, and answers (answers.h).
// `gather` makes of a question's subject, and the group size that it states (0: none), a
// StatusOr<Subject>, whose errors name fields of the subject.
template <typename Request, typename Gather>
auto AnswerCall(const Request& request, const Gather& gather, const accountant::Limits& limits)
    -> decltype(Answer(Subject(), request, limits)) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  if constexpr (requires { AnswerAlone(request, limits); }) {
    if (!request.has_subject()) return AnswerAlone(request, limits);
  }
  ASSIGN_OR_RETURN(
      const Subject subject,
      events::Within("subject", gather(request.subject(), request.options().group_size())));
  return Answer(subject, request, limits);
}

}  // namespace dpledger::questions
