#include "merkle/tile_tree.h"

#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::merkle {
namespace {

constexpr size_t kTileBytes = size_t{kTileWidth} * kHashBytes;
// Those that one proof can touch: one on its way up and one at the right edge, for 8 levels.
constexpr size_t kKeptTiles = 64;

// The root of a perfect tree over these hashes; their number is a power of two.
Hash PerfectRoot(std::span<const Hash> hashes) {
  std::vector<Hash> row(hashes.begin(), hashes.end());
  while (row.size() > 1) {
    for (size_t i = 0; i < row.size() / 2; ++i) row[i] = NodeHash(row[2 * i], row[2 * i + 1]);
    row.resize(row.size() / 2);
  }
  return row[0];
}

// The place of a subtree in the tiles: its hashes are `count` neighbours in one tile.
struct TilePlace {
  TileId id;
  size_t first;
  size_t count;
};

TilePlace PlaceOf(int level, uint64_t index) {
  const int height = level % kTileHeight;
  const uint64_t first = index << height;
  return {{level / kTileHeight, first / kTileWidth}, first % kTileWidth, size_t{1} << height};
}

absl::Status CheckNode(uint64_t tree_size, int level, uint64_t index) {
  if (tree_size > kMaxTreeSize) {
    return FieldError("tree_size", absl::StrCat("must be at most 2^63 leaves, got ", tree_size));
  }
  if (level < 0 || level > 63 || index >= (tree_size >> level)) {
    return FieldError("index", absl::StrCat("subtree ", index, " of level ", level,
                                            " is not in a tree of ", tree_size, " leaves"));
  }
  return absl::OkStatus();
}

// The tiles read last, all forgotten when there are too many.
class KeptTiles {
 public:
  KeptTiles(TileReader& reader, uint64_t tree_size) : reader_(reader), tree_size_(tree_size) {}

  absl::StatusOr<Hash> Node(int level, uint64_t index) {
    RETURN_IF_ERROR(CheckNode(tree_size_, level, index));
    const TilePlace place = PlaceOf(level, index);
    auto tile = tiles_.find(place.id);
    if (tile == tiles_.end()) {
      ASSIGN_OR_RETURN(std::vector<Hash> hashes,
                       ReadTileHashes(reader_, place.id, TileWidthIn(tree_size_, place.id)));
      if (tiles_.size() == kKeptTiles) tiles_.clear();
      tile = tiles_.emplace(place.id, std::move(hashes)).first;
    }
    return PerfectRoot(std::span(tile->second).subspan(place.first, place.count));
  }

 private:
  TileReader& reader_;
  const uint64_t tree_size_;
  std::map<TileId, std::vector<Hash>> tiles_;
};

}  // namespace

absl::StatusOr<std::vector<Hash>> ReadTileHashes(TileReader& reader, const TileId& id, int width) {
  ASSIGN_OR_RETURN(const std::string bytes, reader.ReadTile(id, width));
  const size_t count = static_cast<size_t>(width);
  if (bytes.size() % kHashBytes != 0 || bytes.size() > kTileBytes ||
      bytes.size() < count * kHashBytes) {
    return absl::DataLossError(absl::StrCat(TilePath(id.level, id.index, width), ": must have ",
                                            width, " to 256 hashes of 32 bytes, got ", bytes.size(),
                                            " bytes"));
  }
  std::vector<Hash> hashes(count);
  std::memcpy(hashes.data(), bytes.data(), count * kHashBytes);
  return hashes;
}

NodeSource NodesOf(TileReader& reader, uint64_t tree_size) {
  return [tiles = std::make_shared<KeptTiles>(reader, tree_size)](int level, uint64_t index) {
    return tiles->Node(level, index);
  };
}

std::vector<SizedTile> PartialTilesOf(uint64_t size) {
  std::vector<SizedTile> partial;
  for (int level = (std::bit_width(size) + kTileHeight - 1) / kTileHeight; level-- > 0;) {
    const TileId id{level, (size >> (level * kTileHeight)) / kTileWidth};
    const int width = TileWidthIn(size, id);
    if (width > 0) partial.push_back({id, width});
  }
  return partial;
}

absl::StatusOr<TileBuilder> TileBuilder::Resume(uint64_t size, TileReader& reader) {
  if (size > kMaxTreeSize) {
    return FieldError("size", absl::StrCat("must be at most 2^63 leaves, got ", size));
  }
  TileBuilder builder;
  std::string frontier;
  builder.edges_.resize((static_cast<size_t>(std::bit_width(size)) + kTileHeight - 1) /
                        kTileHeight);
  for (const auto& [id, width] : PartialTilesOf(size)) {
    ASSIGN_OR_RETURN(const std::vector<Hash> hashes, ReadTileHashes(reader, id, width));
    std::string& edge = builder.edges_[static_cast<size_t>(id.level)].hashes;
    for (const Hash& hash : hashes) edge.append(View(hash));
    // Its part of the frontier: the subtrees that the binary form of its width names.
    size_t first = 0;
    for (size_t rest = hashes.size(); rest != 0;) {
      const size_t count = std::bit_floor(rest);
      frontier.append(View(PerfectRoot(std::span(hashes).subspan(first, count))));
      first += count;
      rest -= count;
    }
  }
  ASSIGN_OR_RETURN(builder.tree_, CompactTree::FromFrontier(size, frontier));
  return builder;
}

void TileBuilder::AddToTile(size_t tile_level, const Hash& hash) {
  if (edges_.size() == tile_level) edges_.emplace_back();
  Edge& edge = edges_[tile_level];
  edge.hashes.append(View(hash));
  edge.changed = true;
  if (edge.hashes.size() < kTileBytes) return;
  // The size is still that before the leaf, whose tile this is on every level that it completes.
  full_[{static_cast<int>(tile_level), size() >> (tile_level * kTileHeight + kTileHeight)}] =
      std::move(edge.hashes);
  edge = Edge();
}

void TileBuilder::Append(const Hash& leaf_hash) {
  tree_.Append(leaf_hash, [this](size_t level, const Hash& subtree) {
    if (level % kTileHeight == 0) AddToTile(level / kTileHeight, subtree);
  });
}

std::map<TileId, std::string> TileBuilder::TakeChanged() {
  std::map<TileId, std::string> changed = std::exchange(full_, {});
  for (size_t level = 0; level < edges_.size(); ++level) {
    Edge& edge = edges_[level];
    if (!std::exchange(edge.changed, false)) continue;
    const uint64_t index = size() >> (level * kTileHeight + kTileHeight);
    changed[{static_cast<int>(level), index}] = edge.hashes;
  }
  return changed;
}

}  // namespace dpledger::merkle
