#include "ledger_store/postgres/chunk.h"

#include <algorithm>

#include "merkle/compact_tree.h"
#include "merkle/sha256.h"
#include "merkle/tile.h"

namespace dpledger::postgres {
namespace {

constexpr size_t kMaxEntries = merkle::kTileWidth;
constexpr size_t kEnoughBytes = 1 << 20;

}  // namespace

std::vector<Chunk> ToChunks(uint64_t first_sequence, std::span<const std::string> entries) {
  std::vector<Chunk> chunks;
  for (size_t begin = 0; begin < entries.size();) {
    size_t end = begin;
    for (size_t bytes = 0;
         end < entries.size() && end - begin < kMaxEntries && bytes < kEnoughBytes; ++end) {
      bytes += entries[end].size();
    }
    Chunk& chunk = chunks.emplace_back();
    chunk.first_sequence = first_sequence + begin;
    chunk.count = end - begin;
    // Neither empty nor over 256, and the rules of a request bound the entries.
    chunk.body = merkle::EncodeEntryBundle(entries.subspan(begin, end - begin)).value();
    chunk.body_sha256 = merkle::ToBytes(merkle::Sha256({chunk.body}));
    begin = end;
  }
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
