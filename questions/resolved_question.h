// The steps that all questions share before and after the accountant's answer. Private to the files
// that answer questions.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "accountant/accountant.h"
#include "accountant/filter/filter.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "questions/answers.h"
#include "questions/guarantee.h"

namespace dpledger::questions {

// A request's options and subject, resolved into the accountant's arguments.
struct ResolvedQuestion {
  accountant::Neighbours neighbours = accountant::Adjacency::kAddOrRemoveOne;
  accountant::Composition composition;
  accountant::Options options;
  v1::AnswerDetails details;
};

// The question without its composition: options, and the details that come from the subject.
// INVALID_ARGUMENT naming the option.
absl::StatusOr<ResolvedQuestion> Begin(const Subject& subject, const v1::AccountingOptions& options,
                                       const accountant::Limits& limits);

// Adds the composition of the whole history, under the adjacency and for the groups that the
// options ask for, and what every answer states of it. INVALID_ARGUMENT naming the option;
// FAILED_PRECONDITION for a history without an analysis.
absl::Status ResolveInto(const Subject& subject, const v1::AccountingOptions& options,
                         ResolvedQuestion& question);

// Adds what every answer about a composition states of it.
void DescribeComposition(const accountant::Composition& composition, v1::AnswerDetails& details);

// The whole question. INVALID_ARGUMENT naming the option; FAILED_PRECONDITION for ADAPTIVE
// parameters, for ledgers without a common bound, and for a history without an analysis.
absl::StatusOr<ResolvedQuestion> Ask(const Subject& subject, const v1::AccountingOptions& options,
                                     const accountant::Limits& limits);

// A question about ADAPTIVE ledgers, each within a filter that it declared.
struct HeldQuestion {
  accountant::filter::Filter filter;  // the filter that they are within together
  v1::AnswerDetails details;
};

// FAILED_PRECONDITION if a filter is crossed (reason FILTER_CROSSED, naming the ledger), if it
// cannot count an event, if the filters do not compose, or if the options ask for what a filter
// does not bound (another adjacency, a group, a method). Precondition: subject.held is not empty.
absl::StatusOr<HeldQuestion> AskHeld(const Subject& subject, const v1::AccountingOptions& options,
                                     const accountant::Limits& limits);

// Adds what a FIXED ledger has spent of its budget's grant, if that can be counted.
absl::Status DescribeUnderBudget(const HeldLedger& ledger, v1::Adjacency declared,
                                 const accountant::Limits& limits, v1::AnswerDetails& details);

// A question whose answer is an odometer's. INVALID_ARGUMENT naming the option;
// FAILED_PRECONDITION for a method other than RDP, and for a history without an analysis.
// Precondition: subject.no_common_bound is an error.
absl::StatusOr<ResolvedQuestion> AskOdometer(const Subject& subject,
                                             const v1::AccountingOptions& options,
                                             const accountant::Limits& limits);

// Adds the method that answered, and its warnings.
void Describe(const accountant::Answer& answer, v1::AnswerDetails& details);

// The composition of the whole planned run, if rounds are still to come; they are taken to be of
// the costliest kind recorded. nullopt if no rounds are to come, or the plan's cost cannot be told
// from what is recorded. Adds an explanation to `details`.
std::optional<accountant::Composition> PlanOf(const Subject& subject,
                                              const accountant::Composition& spent,
                                              v1::AnswerDetails& details);

// Adds what the answer's number promises, and what is to be known of its δ. `bound` is as
// GuaranteeOf's (guarantee.h).
void SayGuarantee(double bound, double delta, const accountant::History& history,
                  v1::AnswerDetails& details, Asked asked = Asked::kEpsilon);

v1::Interval ToProto(const accountant::Interval& interval);

}  // namespace dpledger::questions
