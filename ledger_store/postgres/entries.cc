#include "ledger_store/postgres/entries.h"

#include <algorithm>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger/batch_row.h"
#include "ledger_store/staging/operation.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"
#include "merkle/tile.h"

namespace dpledger::postgres {
namespace {

constexpr size_t kMaxEntries = merkle::kTileWidth;  // of a chunk
constexpr size_t kEnoughBytes = 1 << 20;
// Chunks read at once: few while they may be large, many once they are known to be small.
constexpr size_t kFirstChunks = 16;
constexpr size_t kMostChunks = 1024;
// Greater than any sequence number, and still a bigint with room to add to.
constexpr uint64_t kBeyondAll = uint64_t{1} << 62;

// The chunk that holds the entry begins there or behind.
uint64_t NearestTo(uint64_t sequence) {
  return sequence < kMaxEntries ? 0 : sequence - kMaxEntries + 1;
}

// What is read of a ledger.
struct Page {
  const std::string& ledger;
  const uint64_t first;
  uint64_t size = 0;  // that no entry lies beyond
  const size_t max_entries;
  const size_t max_bytes = std::numeric_limits<size_t>::max();
  std::vector<std::string>& entries;
  size_t bytes = 0;
  size_t chunks = 0;

  uint64_t Next() const { return first + entries.size(); }
  bool IsFull() const {
    return entries.size() >= max_entries || (!entries.empty() && bytes >= max_bytes);
  }
};

// `at`: the column of first_seq, behind which n, body and body_sha256 are.
absl::Status AddChunk(const Rows& rows, int row, int at, Page& page) {
  const auto begin = rows.Size(row, at);
  const auto count = rows.Size(row, at + 1);
  const uint64_t next = page.Next();
  if (begin + count <= next) return absl::OkStatus();  // ends before the first wanted one
  if (begin > next || begin + count > page.size) return EntryMissing(page.ledger, next);
  const auto entries = FromChunk(rows.View(row, at + 2), rows.View(row, at + 3), count);
  if (!entries.ok()) {
    return absl::DataLossError(absl::StrCat(page.ledger, ": the entries from ", begin,
                                            " on: ", entries.status().message()));
  }
  ++page.chunks;
  for (size_t i = next - begin; i < entries->size() && !page.IsFull(); ++i) {
    page.bytes += (*entries)[i].size();
    page.entries.emplace_back((*entries)[i]);
  }
  return absl::OkStatus();
}

Statement ReadTiles(const Database& database, const std::vector<TailRange>& ranges) {
  Columns wanted("tnn");
  for (const TailRange& range : ranges) {
    for (const merkle::TileId& id : range.tiles) wanted.Add(range.ledger, id.level, id.index);
  }
  return {database.Sql("SELECT t.log, t.level, t.idx, t.hashes"
                       " FROM unnest($1::text[], $2::bigint[], $3::bigint[])"
                       " AS w (log, level, idx) JOIN @.tiles AS t"
                       " ON t.log = w.log AND t.level = w.level AND t.idx = w.idx"),
          wanted.ToValues()};
}

Statement ReadChunks(const Database& database, const std::vector<TailRange>& ranges) {
  Columns wanted("tnnn");
  for (const TailRange& range : ranges)
    wanted.Add(range.ledger, NearestTo(range.signed_size), range.signed_size, range.size);
  return {database.Sql("SELECT c.ledger, c.first_seq, c.n, c.body, c.body_sha256"
                       " FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])"
                       " AS w (ledger, nearest, first, size) JOIN @.chunks AS c"
                       " ON c.ledger = w.ledger AND c.first_seq >= w.nearest"
                       " AND c.first_seq < w.size AND c.first_seq + c.n > w.first"
                       " ORDER BY c.ledger, c.first_seq"),
          wanted.ToValues()};
}

}  // namespace

std::vector<Chunk> ToChunks(uint64_t first_sequence, std::string_view batch) {
  std::vector<Chunk> chunks;
  const auto cut = [&](size_t bytes, size_t count) {
    Chunk& chunk = chunks.emplace_back();
    chunk.first_sequence = first_sequence;
    chunk.count = count;
    chunk.body = std::string(batch.substr(0, bytes));
    chunk.body_sha256 = merkle::ToBytes(merkle::Sha256({chunk.body}));
    first_sequence += count;
    batch.remove_prefix(bytes);
  };
  // The rules of a head made the row: it can be cut.
  const std::vector<std::string_view> entries = DecodeBatchRow(batch).value();
  size_t bytes = 0;
  size_t count = 0;
  for (const std::string_view entry : entries) {
    bytes += kEntryLengthBytes + entry.size();
    if (++count == kMaxEntries || bytes >= kEnoughBytes) {
      cut(bytes, count);
      bytes = count = 0;
    }
  }
  if (count > 0) cut(bytes, count);
  return chunks;
}

absl::StatusOr<std::vector<std::string_view>> FromChunk(std::string_view body,
                                                        std::string_view body_sha256,
                                                        uint64_t count) {
  if (merkle::ToBytes(merkle::Sha256({body})) != body_sha256) {
    return absl::DataLossError("does not match its hash");
  }
  const auto entries =
      merkle::DecodeEntryBundle(body, static_cast<int>(std::min<uint64_t>(count, kMaxEntries + 1)));
  if (!entries.ok()) return absl::DataLossError(entries.status().message());
  return entries;
}

absl::StatusOr<std::vector<std::string>> ReadEntries(Database& database, const std::string& name,
                                                     uint64_t first, size_t max_entries,
                                                     size_t max_bytes) {
  std::vector<std::string> entries;
  Page page{.ledger = name,
            .first = first,
            .max_entries = max_entries,
            .max_bytes = max_bytes,
            .entries = entries};
  size_t limit = kFirstChunks;
  do {
    const uint64_t next = std::min(page.Next(), kBeyondAll);
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
                  .Number(NearestTo(next))
                  .Number(end)
                  .Number(next)
                  .Number(limit)}}));
    if (rows[0].size() == 0) return LedgerNotFound(name);
    // Entries that came since the size was read are there already; they are the next page's.
    if (page.size == 0) page.size = rows[0].Size(0, 0);
    if (first > page.size) {
      return absl::OutOfRangeError(absl::StrCat("first_sequence: must be at most ", page.size,
                                                ", the size of ", name, ", got ", first));
    }
    const size_t before = entries.size();
    for (int row = 0; row < rows[1].size(); ++row) {
      if (rows[1].Size(row, 0) >= page.size) break;
      RETURN_IF_ERROR(AddChunk(rows[1], row, 0, page));
      if (page.IsFull()) break;
    }
    const bool wanted = next < page.size && max_entries > 0;
    if (wanted && entries.size() == before) return EntryMissing(name, next);
    if (page.chunks > 0) {
      const size_t chunk_bytes = std::max<size_t>(page.bytes / page.chunks, 1);
      limit = std::clamp((max_bytes - std::min(max_bytes, page.bytes)) / chunk_bytes + 1,
                         kFirstChunks, kMostChunks);
    }
  } while (page.Next() < page.size && !page.IsFull());
  return entries;
}

absl::StatusOr<std::vector<Tail>> ReadTails(Database& database,
                                            const std::vector<TailRange>& ranges) {
  ASSIGN_OR_RETURN(const std::vector<Rows> rows,
                   database.Read({ReadTiles(database, ranges), ReadChunks(database, ranges)}));
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < ranges.size(); ++i) places[ranges[i].ledger] = i;
  std::vector<Tail> tails(ranges.size());
  for (int row = 0; row < rows[0].size(); ++row) {
    const merkle::TileId id{static_cast<int>(rows[0].Number(row, 1)), rows[0].Size(row, 2)};
    tails[places.at(rows[0].View(row, 0))].tiles[id] = rows[0].Bytes(row, 3);
  }
  for (int row = 0; row < rows[1].size(); ++row) {
    const size_t place = places.at(rows[1].View(row, 0));
    const TailRange& range = ranges[place];
    Page page{.ledger = range.ledger,
              .first = range.signed_size,
              .size = kBeyondAll,
              .max_entries = range.size - range.signed_size,
              .entries = tails[place].entries};
    if (tails[place].status.ok()) tails[place].status = AddChunk(rows[1], row, 1, page);
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint64_t end = ranges[i].signed_size + tails[i].entries.size();
    if (tails[i].status.ok() && end < ranges[i].size)
      tails[i].status = EntryMissing(ranges[i].ledger, end);
  }
  return tails;
}

}  // namespace dpledger::postgres
