// Events from a question or a file, taken as those of one writer in a ledger of its own.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/mechanism/history.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/event.pb.h"
#include "dpledger/v1/ledger.pb.h"
#include "questions/answers.h"

namespace dpledger::questions {

// Not thread safe.
class GivenEvents {
 public:
  // Refuses what a ledger would refuse of one writer (events/event_values.h,
  // events/writer_rules.h); an error changes nothing.
  absl::Status Add(const v1::Event& event);
  const accountant::History& history() const { return history_; }

 private:
  v1::WriterStatus writer_;
  accountant::History history_;
};

// These events, one after the other. INVALID_ARGUMENT naming the first that is refused, of `field`.
absl::StatusOr<accountant::History> HistoryOfEvents(
    std::string_view field, const google::protobuf::RepeatedPtrField<v1::Event>& events);

// What a grant's plan comes to. Precondition: events::CheckPlan is OK.
inline absl::StatusOr<accountant::History> HistoryOfPlan(const v1::BudgetGrant& grant) {
  return HistoryOfEvents("plan", grant.plan());
}

// A question's subject where no ledgers are at hand. INVALID_ARGUMENT, naming the field of the
// subject, if it names ledgers or a data set, or gives no event.
absl::StatusOr<Subject> SubjectOfEvents(const v1::Subject& subject, uint64_t group_size);

}  // namespace dpledger::questions
