#include "ledger_store/postgres/tail_reader.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/postgres/chunk.h"
#include "merkle/tile_tree.h"

namespace dpledger::postgres {
namespace {

Statement ReadTiles(const Database& database, const std::vector<TailRange>& ranges) {
  std::vector<std::string> logs;
  std::vector<int64_t> levels, indices;
  for (const TailRange& range : ranges) {
    for (const merkle::TileId& id : range.tiles) {
      logs.push_back(range.ledger);
      levels.push_back(id.level);
      indices.push_back(static_cast<int64_t>(id.index));
    }
  }
  return {database.Sql("SELECT t.log, t.level, t.idx, t.hashes"
                       " FROM unnest($1::text[], $2::bigint[], $3::bigint[])"
                       " AS w (log, level, idx) JOIN @.tiles AS t"
                       " ON t.log = w.log AND t.level = w.level AND t.idx = w.idx"),
          Values().Texts(logs).Numbers(levels).Numbers(indices)};
}

Statement ReadChunks(const Database& database, const std::vector<TailRange>& ranges) {
  std::vector<std::string> ledgers;
  std::vector<int64_t> nearest, firsts, ends;
  for (const TailRange& range : ranges) {
    ledgers.push_back(range.ledger);
    // A chunk has at most 256 entries: the one that holds the first begins so near.
    const uint64_t first = range.signed_size;
    nearest.push_back(
        static_cast<int64_t>(first < merkle::kTileWidth ? 0 : first - merkle::kTileWidth + 1));
    firsts.push_back(static_cast<int64_t>(first));
    ends.push_back(static_cast<int64_t>(range.size));
  }
  return {database.Sql("SELECT c.ledger, c.first_seq, c.n, c.body, c.body_sha256"
                       " FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])"
                       " AS w (ledger, nearest, first, size) JOIN @.chunks AS c"
                       " ON c.ledger = w.ledger AND c.first_seq >= w.nearest"
                       " AND c.first_seq < w.size AND c.first_seq + c.n > w.first"
                       " ORDER BY c.ledger, c.first_seq"),
          Values().Texts(ledgers).Numbers(nearest).Numbers(firsts).Numbers(ends)};
}

// Takes the chunk's entries from the next wanted one on.
absl::Status TakeChunk(const Rows& rows, int row, const TailRange& range, Tail& tail) {
  const auto begin = static_cast<uint64_t>(rows.Number(row, 1));
  const auto count = static_cast<uint64_t>(rows.Number(row, 2));
  const uint64_t next = range.signed_size + tail.entries.size();
  if (begin > next || begin + count <= next) {
    return absl::DataLossError(absl::StrCat(range.ledger, ": entry ", next, " is missing"));
  }
  const auto entries = FromChunk(rows.View(row, 3), rows.View(row, 4), count);
  if (!entries.ok()) {
    return absl::DataLossError(absl::StrCat(range.ledger, ": the entries from ", begin,
                                            " on: ", entries.status().message()));
  }
  for (uint64_t i = next - begin; i < count && begin + i < range.size; ++i) {
    tail.entries.emplace_back((*entries)[i]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Tail>> ReadTails(Database& database,
                                            const std::vector<TailRange>& ranges) {
  ASSIGN_OR_RETURN(const std::vector<Rows> rows,
                   database.Read({ReadTiles(database, ranges), ReadChunks(database, ranges)}));
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < ranges.size(); ++i) places[ranges[i].ledger] = i;
  std::vector<Tail> tails(ranges.size());
  for (int row = 0; row < rows[0].size(); ++row) {
    const merkle::TileId id{static_cast<int>(rows[0].Number(row, 1)),
                            static_cast<uint64_t>(rows[0].Number(row, 2))};
    tails[places.at(rows[0].View(row, 0))].tiles[id] = rows[0].Bytes(row, 3);
  }
  for (int row = 0; row < rows[1].size(); ++row) {
    const size_t place = places.at(rows[1].View(row, 0));
    Tail& tail = tails[place];
    if (tail.status.ok()) tail.status = TakeChunk(rows[1], row, ranges[place], tail);
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint64_t end = ranges[i].signed_size + tails[i].entries.size();
    if (tails[i].status.ok() && end < ranges[i].size) {
      tails[i].status =
          absl::DataLossError(absl::StrCat(ranges[i].ledger, ": entry ", end, " is missing"));
    }
  }
  return tails;
}

}  // namespace dpledger::postgres
