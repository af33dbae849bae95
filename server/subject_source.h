// Gathers what a question is about: ledgers from the store, composed where that is valid, and
// events given with the question.
//
//  1. Every entry counts once. A fork carries its parent's prefix (server/lineage.h); ledgers that
//     share ancestors are the union of what they carry, ledger by ledger.
//  2. FIXED: a fork's declaration speaks for the prefix too, so one fork needs no other statement.
//     Several ledgers are composed only if each is plan_independent, forks of one another no less:
//     each is a run of its own from where they part.
//  3. ADAPTIVE: a fork has its parent's filter, and the prefix is spent of it. Several ledgers add
//     their filters' bounds, forks too: each filter bounds what its ledger did alone, and so the
//     more the part that is not shared.
//  4. planned_rounds of a fork counts the prefix; up_to_sequence counts the ledger's own entries;
//     the answer's count of entries is that of all ledgers in it, ancestors included.
// Thread safe.
#pragma once

#include <utility>

#include "absl/status/statusor.h"
#include "accountant/from_proto/questions.h"
#include "accountant/limits.h"
#include "dpledger/v1/accounting_service.pb.h"
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
  // its root hash; FAILED_PRECONDITION, naming the ledger, for ledgers that cannot be composed
  // (reasons DATASETS_DIFFER, PARAMETERS_DIFFER, ADJACENCIES_DIFFER, PLAN_NOT_INDEPENDENT,
  // COPIES_OVERLAP); and what ReadLineage returns.
  absl::StatusOr<accountant::Subject> Gather(const v1::Subject& subject,
                                             const accountant::Limits& limits);

 private:
  static void SetPlan(const std::vector<Lineage>& named, bool with_events,
                      accountant::Subject& into);
  // Adds a warning for each ancestor that released more than the prefix in the answer.
  absl::Status WarnOfRest(const std::vector<Lineage>& named, const std::vector<LedgerPrefix>& all,
                          accountant::Subject& into);
  // Adds a warning that names how many other ledgers declare the data set.
  absl::Status WarnOfOthers(const std::vector<LedgerPrefix>& all, accountant::Subject& into);

  LedgerStore* const store_;
  const SignedRoot signed_root_;
  HistoryCache histories_;
};

}  // namespace dpledger::server
