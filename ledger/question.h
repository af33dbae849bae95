// What every question does with its request before the accountant is asked and after: shared by the
// files that answer them, for nobody else.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "accountant/accountant.h"
#include "accountant/filter/filter.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger/questions.h"

namespace dpledger::accountant {

// A request's options and its subject, resolved into what the accountant is asked.
struct Question {
  Neighbours neighbours = Adjacency::kAddOrRemoveOne;
  Composition composition;
  Options options;
  v1::AnswerDetails details;
};

// The question before its composition: options, and the details that the subject brings along.
// INVALID_ARGUMENT naming the option.
absl::StatusOr<Question> Begin(const Subject& subject, const v1::AccountingOptions& options,
                               const Limits& limits);

// What is said of a composition in every answer about it.
void DescribeComposition(const Composition& composition, v1::AnswerDetails& details);

// INVALID_ARGUMENT naming the option; FAILED_PRECONDITION for what has no analysis and for ADAPTIVE
// parameters.
absl::StatusOr<Question> Ask(const Subject& subject, const v1::AccountingOptions& options,
                             const Limits& limits);

// ADAPTIVE ledgers, each held by a filter that it declared.
struct HeldQuestion {
  filter::Filter filter;  // what they are held to together
  v1::AnswerDetails details;
};

// FAILED_PRECONDITION: a filter is crossed (reason FILTER_CROSSED, naming the ledger), cannot count
// an event, has no common bound with another, or the options ask for what a filter does not bound
// (another adjacency, a group, a method). Precondition: subject.held is not empty.
absl::StatusOr<HeldQuestion> AskHeld(const Subject& subject, const v1::AccountingOptions& options,
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
