#include "ledger_store/postgres/chunk.h"

#include <algorithm>

#include "ledger/batch_row.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"
#include "merkle/tile.h"

namespace dpledger::postgres {
namespace {

constexpr size_t kMaxEntries = merkle::kTileWidth;
constexpr size_t kEnoughBytes = 1 << 20;

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

}  // namespace dpledger::postgres
