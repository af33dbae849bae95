// What the accountant needs of a ledger's first entries, with the Merkle trees of the very bytes
// that it was read from.
//
// Values and functions; a LedgerHistory is changed by one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "accountant/limits.h"
#include "ledger/history_reader.h"
#include "ledger_store/store.h"
#include "merkle/compact_tree.h"

namespace dpledger::server {

// The first tree.size() entries of a ledger.
struct LedgerHistory {
  accountant::HistoryReader reader;
  merkle::CompactTree tree;
  std::vector<merkle::CompactTree> originals;  // of the ledgers that it is a copy of
  uint64_t table_size = 0;                     // entries that the stored run-length table has of it
  size_t bytes = 0;                            // about what all this takes in memory

  const accountant::History& history() const { return reader.history(); }
};

// About what the history takes in memory. Walks all of it.
size_t BytesOf(const LedgerHistory& history);

// Takes the next entry. What HistoryReader::Add returns; DATA_LOSS if a copy's last entry is there
// and the copied bytes do not have the original's root hash.
absl::Status AddEntry(std::string_view bytes, LedgerHistory& into);

// Takes entries from the store until there are `size`, which the ledger must have. Besides what
// AddEntry returns, the ledger named: RESOURCE_EXHAUSTED (reason HISTORY_TOO_LARGE) above
// `max_bytes`; DEADLINE_EXCEEDED or CANCELLED by `limits`, and `into` is then good as far as it
// has come.
absl::Status ReadOn(LedgerReader& store, const std::string& ledger, uint64_t size, size_t max_bytes,
                    const accountant::Limits& limits, LedgerHistory& into);

}  // namespace dpledger::server
