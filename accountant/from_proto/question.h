// What every question does with its request before the accountant is asked and after: shared by the
// files that answer them, for nobody else.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "accountant/accountant.h"
#include "accountant/from_proto/questions.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::accountant {

// A request's options and its subject, resolved into what the accountant is asked.
struct Question {
  Neighbours neighbours = Adjacency::kAddOrRemoveOne;
  Composition composition;
  Options options;
  v1::AnswerDetails details;
};

// INVALID_ARGUMENT naming the option; FAILED_PRECONDITION for what has no analysis and for ADAPTIVE
// parameters.
absl::StatusOr<Question> Ask(const Subject& subject, const v1::AccountingOptions& options,
                             const Limits& limits);

// The method that answered, and its warnings.
void Describe(const Answer& answer, v1::AnswerDetails& details);

// The composition of the whole plan, when it has rounds to come: they are taken to be of the
// costliest kind recorded. Empty when there is nothing to plan with. Says in `details` what it
// means.
std::optional<Composition> PlanOf(const Subject& subject, const Composition& spent,
                                  v1::AnswerDetails& details);

v1::Interval ToProto(const Interval& interval);

}  // namespace dpledger::accountant
