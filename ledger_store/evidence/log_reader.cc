#include "ledger_store/evidence/log_reader.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "base/status.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/tile.h"

namespace dpledger {
namespace {

constexpr size_t kPageBytes = size_t{4} << 20;

constexpr size_t kPageEntries = 10'000;

absl::Status Rehash(LedgerReader& store, const std::string& ledger, uint64_t end,
                    merkle::TileBuilder& tree) {
  while (tree.size() < end) {
    const size_t wanted = std::min<uint64_t>(kPageEntries, end - tree.size());
    ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                     ReadLog(store, ledger, tree.size(), wanted));
    if (entries.empty()) return EntryMissing(ledger, tree.size());
    for (const std::string& entry : entries) tree.Append(merkle::LeafHash(entry));
  }
  return absl::OkStatus();
}

// Tiles that were read ahead.
class TailTiles : public merkle::TileReader {
 public:
  TailTiles(const std::map<merkle::TileId, std::string>& tiles, const std::string& log)
      : tiles_(tiles), log_(log) {}
  absl::StatusOr<std::string> ReadTile(const merkle::TileId& id, int width) override {
    const auto found = tiles_.find(id);
    if (found == tiles_.end()) return MissingTile(log_, id, width);
    return found->second;
  }

 private:
  const std::map<merkle::TileId, std::string>& tiles_;
  const std::string& log_;
};

absl::StatusOr<merkle::TileBuilder> Resume(merkle::TileReader& tiles,
                                           const SignedCheckpoint& last) {
  ASSIGN_OR_RETURN(merkle::TileBuilder tree,
                   merkle::TileBuilder::Resume(last.checkpoint.size, tiles));
  if (last.checkpoint.size == 0 || tree.Root() == last.checkpoint.root) return tree;
  return absl::DataLossError(absl::StrCat(last.checkpoint.origin,
                                          ": the stored tiles do not have the root that was signed "
                                          "at size ",
                                          last.checkpoint.size));
}

absl::Status CheckPoint(const merkle::TileBuilder& tree, const std::string& ledger,
                        const LedgerPoint& point) {
  const merkle::Hash root = tree.Root();
  if (tree.size() == point.size && root == point.root) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      ledger, ": its ", tree.size(), " stored entries hash to the root ",
      HexEncode(merkle::ToBytes(root)), ", but what was acknowledged at size ", point.size,
      " has the root ", HexEncode(merkle::ToBytes(point.root)), "; it will not be signed"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadLog(LedgerReader& store, const std::string& log,
                                                 uint64_t first, size_t max_entries) {
  if (log == kRegistryLog) return store.checkpoints().ReadRegistry(first, max_entries);
  return store.Read(log, first, max_entries, kPageBytes);
}

LogReader::LogReader(LedgerReader& store, std::string log, SignedCheckpoint checkpoint)
    : store_(store),
      log_(std::move(log)),
      signed_(std::move(checkpoint)),
      tiles_(store.checkpoints(), log_),
      nodes_(merkle::NodesOf(tiles_, size())) {}

absl::Status LogReader::Damaged(std::string_view what) const {
  return absl::DataLossError(absl::StrCat(LogName(log_),
                                          ": its stored tiles do not lead to the root "
                                          "that was signed at size ",
                                          size(), ": ", ToAbsl(what)));
}

absl::StatusOr<merkle::Hash> LogReader::RootAt(std::string_view field, uint64_t tree_size) {
  if (tree_size == size()) return signed_.checkpoint.root;
  if (tree_size > size()) {
    return WithReason(
        absl::OutOfRangeError(absl::StrCat(ToAbsl(field), ": must be at most ", size(),
                                           ", which is signed of ", LogName(log_), ", got ",
                                           tree_size)),
        {"BEYOND_LOG", {{"field", std::string(field)}, {"size", absl::StrCat(size())}}});
  }
  ASSIGN_OR_RETURN(const merkle::Hash root, merkle::RootOf(tree_size, nodes_));
  ASSIGN_OR_RETURN(const std::vector<merkle::Hash> proof,
                   merkle::ConsistencyProof(tree_size, size(), nodes_));
  const absl::Status verified =
      merkle::VerifyConsistency(tree_size, root, size(), signed_.checkpoint.root, proof);
  if (!verified.ok()) return Damaged(FromAbsl(verified.message()));
  return root;
}

absl::StatusOr<LeafProof> LogReader::ProveInclusion(uint64_t index, uint64_t tree_size) {
  ASSIGN_OR_RETURN(const merkle::Hash root, RootAt("size", tree_size));
  if (index >= tree_size) {
    return FieldError("index",
                      absl::StrCat("must be below the tree's size ", tree_size, ", got ", index));
  }
  LeafProof proof;
  ASSIGN_OR_RETURN(proof.leaf_hash, nodes_(0, index));
  ASSIGN_OR_RETURN(proof.hashes, merkle::InclusionProof(index, tree_size, nodes_));
  const absl::Status verified =
      merkle::VerifyInclusion(proof.leaf_hash, index, tree_size, root, proof.hashes);
  if (!verified.ok()) return Damaged(FromAbsl(verified.message()));
  return proof;
}

absl::StatusOr<PrefixProof> LogReader::ProveConsistency(uint64_t old_size, uint64_t new_size) {
  PrefixProof proof;
  ASSIGN_OR_RETURN(proof.new_root, RootAt("new_size", new_size));
  if (old_size > new_size) {
    return FieldError("old_size",
                      absl::StrCat("must be at most new_size ", new_size, ", got ", old_size));
  }
  ASSIGN_OR_RETURN(proof.old_root, RootAt("old_size", old_size));
  ASSIGN_OR_RETURN(proof.hashes, merkle::ConsistencyProof(old_size, new_size, nodes_));
  const absl::Status verified =
      merkle::VerifyConsistency(old_size, proof.old_root, new_size, proof.new_root, proof.hashes);
  if (!verified.ok()) return Damaged(FromAbsl(verified.message()));
  return proof;
}

absl::StatusOr<std::string> LogReader::ReadPath(std::string_view path) {
  if (path == "checkpoint") return signed_.note;
  ASSIGN_OR_RETURN(const merkle::ParsedTilePath parsed, merkle::ParseTilePath(path));
  const merkle::SizedTile& tile = parsed.tile;
  const int covered = merkle::TileWidthIn(size(), tile.id);
  if (tile.width > covered) {
    return WithReason(
        absl::NotFoundError(absl::StrCat("path: ", covered, " hashes of it are signed of ",
                                         LogName(log_), ", ", tile.width, " are asked for")),
        {"TILE_NOT_FOUND", {{"field", "path"}, {"width", absl::StrCat(covered)}}});
  }
  if (parsed.entries) return ReadBundle(tile);
  ASSIGN_OR_RETURN(const std::vector<merkle::Hash> hashes, ReadTile(tile));
  std::string bytes;
  for (const merkle::Hash& hash : hashes) bytes.append(merkle::ToBytes(hash));
  return bytes;
}

// Verifies the perfect subtrees that the tile's hashes make up. Seen from their height the tree has
// the same shape, with the subtrees as leaves: the upper part of a leaf's proof is theirs.
absl::StatusOr<std::vector<merkle::Hash>> LogReader::ReadTile(const merkle::SizedTile& tile) {
  ASSIGN_OR_RETURN(std::vector<merkle::Hash> hashes,
                   merkle::ReadTileHashes(tiles_, tile.id, tile.width));
  merkle::CompactTree subtrees;
  for (const merkle::Hash& hash : hashes) subtrees.Append(hash);
  const int level = tile.id.level * merkle::kTileHeight;
  uint64_t first = tile.id.index * merkle::kTileWidth;
  uint64_t left = hashes.size();
  for (const merkle::Hash& subtree : subtrees.frontier()) {
    const uint64_t count = std::bit_floor(left);
    const int height = level + std::countr_zero(count);
    ASSIGN_OR_RETURN(std::vector<merkle::Hash> proof,
                     merkle::InclusionProof(first << level, size(), nodes_));
    proof.erase(proof.begin(), proof.begin() + height);
    const absl::Status verified =
        merkle::VerifyInclusion(subtree, (first << level) >> height, ((size() - 1) >> height) + 1,
                                signed_.checkpoint.root, proof);
    if (!verified.ok()) {
      return Damaged(absl::StrCat(merkle::TilePath(tile.id.level, tile.id.index, tile.width), ": ",
                                  verified.message()));
    }
    first += count;
    left -= count;
  }
  return hashes;
}

absl::Status LogReader::Check(uint64_t first, const std::vector<std::string>& entries) {
  const uint64_t end = std::min(size(), first + entries.size());
  for (uint64_t at = first; at < end;) {
    const uint64_t tile_index = at / merkle::kTileWidth;
    const uint64_t tile_begin = tile_index * merkle::kTileWidth;
    const merkle::TileId id = {.level = 0, .index = tile_index};
    ASSIGN_OR_RETURN(const std::vector<merkle::Hash> hashes,
                     ReadTile({id, merkle::TileWidthIn(size(), id)}));
    for (; at < std::min(end, tile_begin + hashes.size()); ++at) {
      if (merkle::LeafHash(entries[at - first]) != hashes[at - tile_begin]) {
        return Damaged(absl::StrCat("entry ", at, " is not what was signed"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> LogReader::ReadBundle(const merkle::SizedTile& tile) {
  const uint64_t first = tile.id.index * merkle::kTileWidth;
  const auto width = static_cast<size_t>(tile.width);
  std::vector<std::string> entries;
  while (entries.size() < width) {
    ASSIGN_OR_RETURN(std::vector<std::string> page,
                     ReadLog(store_, log_, first + entries.size(), width - entries.size()));
    if (page.empty()) {
      return absl::DataLossError(absl::StrCat(LogName(log_), ": entry ", first + entries.size(),
                                              " is signed, but missing"));
    }
    std::move(page.begin(), page.end(), std::back_inserter(entries));
  }
  RETURN_IF_ERROR(Check(first, entries));
  return merkle::EncodeEntryBundle(entries);
}

absl::StatusOr<merkle::TileBuilder> ResumeSigned(CheckpointReader& store, const std::string& log,
                                                 const SignedCheckpoint& last) {
  LogTiles tiles(store, log);
  return Resume(tiles, last);
}

absl::StatusOr<merkle::TileBuilder> ResumeTail(const Tail& tail, const SignedCheckpoint& last,
                                               const std::string& ledger) {
  RETURN_IF_ERROR(tail.status);
  TailTiles tiles(tail.tiles, ledger);
  ASSIGN_OR_RETURN(merkle::TileBuilder tree, Resume(tiles, last));
  for (const std::string& entry : tail.entries) tree.Append(merkle::LeafHash(entry));
  return tree;
}

absl::Status RehashTo(LedgerReader& store, const std::string& ledger, const LedgerPoint& point,
                      merkle::TileBuilder& tree) {
  RETURN_IF_ERROR(Rehash(store, ledger, point.size, tree));
  return CheckPoint(tree, ledger, point);
}

absl::StatusOr<std::vector<LedgerPoint>> Survey(LedgerReader& store, const std::string& ledger,
                                                const LedgerPoint& head, merkle::TileBuilder tree,
                                                uint64_t step) {
  std::vector<LedgerPoint> points;
  while (tree.size() < head.size && head.size - tree.size() > step) {
    RETURN_IF_ERROR(Rehash(store, ledger, tree.size() + step, tree));
    tree.TakeChanged();
    points.push_back({tree.size(), tree.Root()});
  }
  RETURN_IF_ERROR(RehashTo(store, ledger, head, tree));
  points.push_back(head);
  return points;
}

}  // namespace dpledger
