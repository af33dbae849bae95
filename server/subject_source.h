// Gathers what a question is about: ledgers from the store, composed where that is valid, and
// events given with the question.
//
// How they are composed: ledger/subject.h. up_to_sequence counts the ledger's own entries; the
// answer's count of entries is that of all ledgers in it, ancestors included.
// Thread safe.
#pragma once

#include <utility>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger/questions.h"
#include "ledger/subject.h"
#include "ledger_store/store.h"
#include "server/history_cache.h"
#include "server/lineage.h"

namespace dpledger::server {

class SubjectSource {
 public:
  // `store` must outlive the source. `max_history_bytes` bounds the histories that are kept.
  // Without a `signed_root` nothing confirms the first part of a ledger.
  SubjectSource(LedgerStore* store, size_t max_history_bytes, SignedRoot signed_root = nullptr)
      : store_(store), signed_root_(std::move(signed_root)), histories_(store, max_history_bytes) {}

  // INVALID_ARGUMENT naming the field (of the subject); NOT_FOUND for an unknown ledger;
  // OUT_OF_RANGE for up_to_sequence beyond the ledger; DATA_LOSS if a ledger's entries do not have
  // its root hash; FAILED_PRECONDITION for ledgers that cannot be composed (what
  // accountant::SubjectOf says, and COPIES_OVERLAP); and what ReadLineage returns. `group_size` is
  // what the question states, 0 if nothing.
  absl::StatusOr<accountant::Subject> Gather(const v1::Subject& subject, uint64_t group_size,
                                             const accountant::Limits& limits);

 private:
  // Adds a warning for each ancestor that released more than the prefix in the answer.
  absl::Status WarnOfRest(const std::vector<Lineage>& named,
                          const std::vector<accountant::LedgerPart>& all,
                          accountant::Subject& into);
  // Adds a warning that names how many other ledgers declare the data set.
  absl::Status WarnOfOthers(const std::vector<accountant::LedgerPart>& all,
                            accountant::Subject& into);

  LedgerStore* const store_;
  const SignedRoot signed_root_;
  HistoryCache histories_;
};

}  // namespace dpledger::server
