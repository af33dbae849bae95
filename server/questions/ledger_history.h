// The history of a ledger's first entries, with the Merkle trees of the bytes from which it was
// read.
//
// Values and functions. A LedgerHistory is not thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "accountant/limits.h"
#include "ledger_store/store.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"
#include "questions/history_reader.h"

namespace dpledger::server {

// The first tree.size() entries of a ledger.
struct LedgerHistory {
  questions::HistoryReader reader;
  merkle::CompactTree tree;
  std::vector<merkle::CompactTree> originals;  // trees of the ledgers of which it is a copy
  // A chain of SHA-256 over the leaf hashes of entry 0 and of the entries with mechanisms: what a
  // stored run-length table has read again.
  merkle::Hash read_chain = {};
  uint64_t table_size = 0;  // how many entries the stored run-length table covers
  size_t bytes = 0;         // about the memory that this takes

  const accountant::History& history() const { return reader.history(); }
};

// About the memory that the history takes. Walks all of it.
size_t BytesOf(const LedgerHistory& history);

// Adds an entry's leaf hash to LedgerHistory::read_chain.
void Chain(const merkle::Hash& leaf, merkle::Hash& chain);

// Adds the next entry. Errors of HistoryReader::Add; DATA_LOSS if a copy is complete and the copied
// bytes do not have the original's root hash.
absl::Status AddEntry(std::string_view bytes, LedgerHistory& into);

// Reads entries from the store until `into` has `size` of them. Precondition: the ledger has so
// many. Errors name the ledger: those of AddEntry; RESOURCE_EXHAUSTED (reason HISTORY_TOO_LARGE)
// above `max_bytes`; DEADLINE_EXCEEDED or CANCELLED by `limits`, after which `into` is valid as far
// as it was read.
absl::Status ReadOn(LedgerReader& store, const std::string& ledger, uint64_t size, size_t max_bytes,
                    const accountant::Limits& limits, LedgerHistory& into);

}  // namespace dpledger::server
