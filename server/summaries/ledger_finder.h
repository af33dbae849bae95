// Which ledgers a call is about that names none: those over a data set, or those that a filter
// finds. They are all that are durable when it is asked. Thread safe; calls may wait for the store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dpledger/v1/summary.pb.h"
#include "server/summaries/ledger_index.h"
#include "server/summaries/ledger_tail.h"

namespace dpledger::server {

class LedgerFinder {
 public:
  // Both must outlive the object.
  LedgerFinder(LedgerTail* tail, const LedgerIndex* index) : tail_(*tail), index_(*index) {}

  // Names of the ledgers of all projects that declare the data set, by name; with the server's own,
  // so that their number can be compared with what the store counts. DATA_LOSS while one of them,
  // or one that may be, is damaged.
  absl::StatusOr<std::vector<std::string>> Over(const std::string& dataset, absl::Time deadline);

  // Names of the ledgers of `parent` ("projects/p" or "projects/-") that the filter finds, by name,
  // without the server's own. INVALID_ARGUMENT, naming the field.
  absl::StatusOr<std::vector<std::string>> Find(const std::string& parent,
                                                const std::string& filter, absl::Time deadline);

  // What lists show of the ledger. Null: nothing yet. Does not wait.
  std::shared_ptr<const v1::LedgerSummary> SummaryOf(const std::string& ledger) const;

 private:
  LedgerTail& tail_;
  const LedgerIndex& index_;
};

}  // namespace dpledger::server
