// A ledger with all that its cost is made of: its own entries and, of a fork, its parent's prefix,
// that one's parent's prefix, and so on to the ledger that is no fork.
//
//  1. Every prefix has the root hash that the fork after it states, or that was signed.
//  2. What a ledger's writers left open where a fork leaves it is closed as it stands: writers of
//     the fork are others, whatever their names. An epoch that is cut counts as far as it went.
// Functions; thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "ledger/subject.h"
#include "ledger_store/store.h"
#include "server/history_cache.h"

namespace dpledger::server {

// The first history->tree.size() entries of a ledger.
struct LedgerPrefix {
  v1::Ledger ledger;  // as it is now
  HistoryCache::HistoryPointer history;

  uint64_t size() const { return history->tree.size(); }
  // As the accountant's questions take it.
  accountant::LedgerPart part() const;
};

// The ledger itself first, then its ancestors.
using Lineage = std::vector<LedgerPrefix>;

// The root of a ledger's first `size` entries, by what was signed of it. Waits for a signature if
// so many are not signed yet.
using SignedRoot = std::function<absl::StatusOr<merkle::Hash>(
    const std::string& ledger, uint64_t size, const accountant::Limits& limits)>;

// `up_to_sequence` counts the ledger's own entries; 0 is all; fewer than all must have the root
// that `signed_root` tells, if there is one. NOT_FOUND for an unknown ledger; OUT_OF_RANGE for
// up_to_sequence beyond it; FAILED_PRECONDITION for more than 100 forks of forks (reason
// FORKS_TOO_DEEP) or a copy that is not complete (IMPORT_INCOMPLETE); DATA_LOSS if an ancestor is
// not what the fork says it is; and what HistoryCache::Read returns.
absl::StatusOr<Lineage> ReadLineage(LedgerReader& store, HistoryCache& histories,
                                    const SignedRoot& signed_root, const std::string& name,
                                    uint64_t up_to_sequence, const accountant::Limits& limits);

// FAILED_PRECONDITION (reason COPIES_OVERLAP) if two of them hold the same entries: a ledger and a
// copy of it, or two copies of one. Counted twice, they would be no interval.
absl::Status CheckNoCopyTwice(const std::vector<Lineage>& lineages, HistoryCache& histories,
                              const accountant::Limits& limits);

}  // namespace dpledger::server
