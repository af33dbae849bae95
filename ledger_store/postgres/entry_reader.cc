#include "ledger_store/postgres/entry_reader.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/postgres/chunk.h"
#include "ledger_store/staging/operation.h"
#include "merkle/tile.h"

namespace dpledger::postgres {
namespace {

// Chunks read at once: few while they may be large, many once they are known to be small.
constexpr size_t kFirstChunks = 16;
constexpr size_t kMostChunks = 1024;
// Greater than any sequence number, and still a bigint with room to add to.
constexpr uint64_t kBeyondAll = uint64_t{1} << 62;

struct Page {
  std::vector<std::string> entries;
  size_t bytes = 0;
  size_t chunks = 0;
};

absl::Status AddChunk(const std::string& name, const Rows& rows, int row, uint64_t first,
                      uint64_t size, size_t max_entries, size_t max_bytes, Page& page) {
  const auto begin = static_cast<uint64_t>(rows.Number(row, 0));
  const auto count = static_cast<uint64_t>(rows.Number(row, 1));
  const uint64_t next = first + page.entries.size();
  if (begin + count <= next) return absl::OkStatus();  // ends before the first wanted one
  if (begin > next || begin + count > size) {
    return absl::DataLossError(absl::StrCat(name, ": entry ", next, " is missing"));
  }
  const auto entries = FromChunk(rows.View(row, 2), rows.View(row, 3), count);
  if (!entries.ok()) {
    return absl::DataLossError(
        absl::StrCat(name, ": the entries from ", begin, " on: ", entries.status().message()));
  }
  ++page.chunks;
  for (size_t i = next - begin; i < entries->size() && page.entries.size() < max_entries &&
                                (page.entries.empty() || page.bytes < max_bytes);
       ++i) {
    page.bytes += (*entries)[i].size();
    page.entries.emplace_back((*entries)[i]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadEntries(Database& database, const std::string& name,
                                                     uint64_t first, size_t max_entries,
                                                     size_t max_bytes) {
  Page page;
  uint64_t size = 0;
  size_t limit = kFirstChunks;
  do {
    const uint64_t next = std::min(first + page.entries.size(), kBeyondAll);
    // A chunk has at most 256 entries: the one that holds `next` begins so near.
    const uint64_t nearest = next < merkle::kTileWidth ? 0 : next - merkle::kTileWidth + 1;
    const uint64_t end = next + std::min<uint64_t>(max_entries, uint64_t{1} << 32);
    ASSIGN_OR_RETURN(
        const std::vector<Rows> rows,
        database.Read(
            {{database.Sql("SELECT next_seq FROM @.ledgers WHERE name = $1"), Values().Text(name)},
             {database.Sql("SELECT first_seq, n, body, body_sha256 FROM @.chunks"
                           " WHERE ledger = $1 AND first_seq >= $2 AND first_seq < $3"
                           " AND first_seq + n > $4 ORDER BY first_seq LIMIT $5"),
              Values()
                  .Text(name)
                  .Number(static_cast<int64_t>(nearest))
                  .Number(static_cast<int64_t>(end))
                  .Number(static_cast<int64_t>(next))
                  .Number(static_cast<int64_t>(limit))}}));
    if (rows[0].size() == 0) return LedgerNotFound(name);
    // Entries that came since the size was read are there already; they are the next page's.
    if (size == 0) size = static_cast<uint64_t>(rows[0].Number(0, 0));
    if (first > size) {
      return absl::OutOfRangeError(absl::StrCat("first_sequence: must be at most ", size,
                                                ", the size of ", name, ", got ", first));
    }
    const size_t before = page.entries.size();
    for (int row = 0; row < rows[1].size(); ++row) {
      if (static_cast<uint64_t>(rows[1].Number(row, 0)) >= size) break;
      RETURN_IF_ERROR(AddChunk(name, rows[1], row, first, size, max_entries, max_bytes, page));
      if (page.entries.size() >= max_entries || page.bytes >= max_bytes) break;
    }
    const bool wanted = next < size && max_entries > 0;
    if (wanted && page.entries.size() == before) {
      return absl::DataLossError(absl::StrCat(name, ": entry ", next, " is missing"));
    }
    if (page.chunks > 0) {
      const size_t chunk_bytes = std::max<size_t>(page.bytes / page.chunks, 1);
      limit = std::clamp((max_bytes - std::min(max_bytes, page.bytes)) / chunk_bytes + 1,
                         kFirstChunks, kMostChunks);
    }
  } while (first + page.entries.size() < size && page.entries.size() < max_entries &&
           page.bytes < max_bytes);
  return std::move(page.entries);
}

}  // namespace dpledger::postgres
