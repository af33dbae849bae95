// Entries of ledgers, in the table `chunks`: C2SP entry bundles (merkle/tile.h), each with its
// hash. Functions; thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/postgres/database.h"
#include "ledger_store/store.h"

namespace dpledger::postgres {

struct Chunk {
  uint64_t first_sequence = 0;
  size_t count = 0;
  std::string body;
  std::string body_sha256;
};

// A batch as rows of at most 256 entries and about 1 MiB: nearly every batch is one. `batch` is a
// row of entries (ledger/batch_row.h).
std::vector<Chunk> ToChunks(uint64_t first_sequence, std::string_view batch);

// The entries, as views into `body`. DATA_LOSS if the hash does not match, or if there are not
// `count` entries.
absl::StatusOr<std::vector<std::string_view>> FromChunk(std::string_view body,
                                                        std::string_view body_sha256,
                                                        uint64_t count);

// As LedgerStore::Read and ReadTails, the latter in two statements for all. Every chunk's hash is
// checked, and that none is missing.
absl::StatusOr<std::vector<std::string>> ReadEntries(Database& database, const std::string& name,
                                                     uint64_t first, size_t max_entries,
                                                     size_t max_bytes);
absl::StatusOr<std::vector<Tail>> ReadTails(Database& database,
                                            const std::vector<TailRange>& ranges);

}  // namespace dpledger::postgres
