// Reads a ledger with its ancestors: the ledger's own entries; if it is a fork, its parent's
// prefix, and so on down to a ledger that is not a fork.
//
//  1. Every prefix has the root hash that the fork after it states, or that was signed.
//  2. Rounds and epochs that are open where a fork begins count as far as they went: the fork's
//     writers are different writers, even under the same names.
// Functions; thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "ledger_store/store.h"
#include "questions/subject.h"
#include "server/questions/history_cache.h"

namespace dpledger::server {

// The first history->tree.size() entries of a ledger.
struct LedgerPrefix {
  v1::Ledger ledger;  // at its present size
  HistoryCache::HistoryPointer history;

  uint64_t size() const { return history->tree.size(); }
  // The prefix as a part of a question's subject.
  questions::LedgerPart part() const;
};

// The ledger itself first, then its ancestors.
using Lineage = std::vector<LedgerPrefix>;
// What the ancestors have read, as far as they count.
std::vector<const questions::HistoryReader*> AncestorsOf(const Lineage& lineage);

// The root of a ledger's first `size` entries, proved from its signed checkpoint. Waits for a
// signature if fewer entries are signed yet.
using SignedRoot = std::function<absl::StatusOr<merkle::Hash>(
    const std::string& ledger, uint64_t size, const accountant::Limits& limits)>;

// `up_to_sequence` counts the ledger's own entries; 0: all. A prefix must have the root that
// `signed_root` gives, unless that is null. NOT_FOUND for an unknown ledger; OUT_OF_RANGE for
// up_to_sequence beyond it; FAILED_PRECONDITION for more than 100 forks of forks (reason
// FORKS_TOO_DEEP) or a copy that is not complete (IMPORT_INCOMPLETE); DATA_LOSS if an ancestor's
// prefix does not have the root that the fork states; and errors of HistoryCache::Read. DATA_LOSS
// is what was found twice.
absl::StatusOr<Lineage> ReadLineage(LedgerReader& store, HistoryCache& histories,
                                    const SignedRoot& signed_root, const std::string& name,
                                    uint64_t up_to_sequence, const accountant::Limits& limits);

// FAILED_PRECONDITION (reason COPIES_OVERLAP) if two lineages hold the same entries: a ledger and a
// copy of it, or two copies of one. Their sum would count the entries twice, and its lower bound
// would be false.
absl::Status CheckNoCopyTwice(const std::vector<Lineage>& lineages, HistoryCache& histories,
                              const accountant::Limits& limits);

}  // namespace dpledger::server
