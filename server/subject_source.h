// Gathers what a question is about: ledgers from the store, composed where that is valid, and
// events given with the question.
//
// Thread safe.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/from_proto/questions.h"
#include "accountant/limits.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger_store/store.h"
#include "server/history_cache.h"

namespace dpledger::server {

class SubjectSource {
 public:
  // `store` must outlive the source. `max_history_bytes` bounds the histories that are kept.
  SubjectSource(LedgerStore* store, size_t max_history_bytes)
      : store_(store), histories_(store, max_history_bytes) {}

  // INVALID_ARGUMENT naming the field (of the subject); NOT_FOUND for an unknown ledger;
  // OUT_OF_RANGE for up_to_sequence beyond the ledger; DATA_LOSS if a ledger's entries do not have
  // its root hash; FAILED_PRECONDITION, naming the ledger, for ledgers that cannot be composed
  // (reasons DATASETS_DIFFER, PARAMETERS_DIFFER, ADJACENCIES_DIFFER, PLAN_NOT_INDEPENDENT); and
  // what HistoryCache::Read returns.
  absl::StatusOr<accountant::Subject> Gather(const v1::Subject& subject,
                                             const accountant::Limits& limits);

 private:
  struct Part {
    v1::Ledger ledger;  // as it is now
    std::shared_ptr<const LedgerHistory> history;
  };

  absl::StatusOr<Part> ReadLedger(const std::string& name, uint64_t up_to_sequence,
                                  const accountant::Limits& limits);
  static void SetPlan(const std::vector<Part>& parts, bool with_events, accountant::Subject& into);
  // Adds a warning that names how many other ledgers declare the data set of `parts`.
  absl::Status WarnOfOthers(const std::vector<Part>& parts, accountant::Subject& into);

  LedgerStore* const store_;
  HistoryCache histories_;
};

}  // namespace dpledger::server
