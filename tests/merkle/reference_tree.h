// What the tests of this folder hold the implementation against: RFC 6962, section 2.1, written
// down as the document writes it, recursive and over ranges of leaves; and tiles in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/tile_tree.h"

namespace dpledger::merkle {

// A list of leaves, all the same but for some: so it may have 2^63 of them. Remembers the roots it
// has computed.
class ReferenceTree {
 public:
  // The leaves "leaf 0", "leaf 1", … and so on up to `count`; those after them are all the same.
  explicit ReferenceTree(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) SetLeaf(i);
  }
  void SetLeaf(uint64_t index) { special_[index] = LeafHash(absl::StrCat("leaf ", index)); }

  Hash Leaf(uint64_t index) const {
    const auto leaf = special_.find(index);
    return leaf == special_.end() ? LeafHash("the same") : leaf->second;
  }

  // MTH(D[begin:end]).
  Hash Root(uint64_t begin, uint64_t end) {
    if (begin == end) return Sha256({});
    if (end - begin == 1) return Leaf(begin);
    const auto special = special_.lower_bound(begin);
    // Where nothing differs, the root depends on the number of leaves alone.
    const bool uniform = special == special_.end() || special->first >= end;
    const std::pair<uint64_t, uint64_t> range =
        uniform ? std::pair(end - begin, uint64_t{0}) : std::pair(begin, end);
    const auto known = roots_.find(range);
    if (known != roots_.end()) return known->second;
    const uint64_t split = begin + Split(end - begin);
    return roots_[range] = NodeHash(Root(begin, split), Root(split, end));
  }
  Hash Root(uint64_t size) { return Root(0, size); }

  // PATH(m, D[begin:end]), section 2.1.1; m counted from leaf 0.
  std::vector<Hash> Path(uint64_t m, uint64_t begin, uint64_t end) {
    if (end - begin == 1) return {};
    const uint64_t split = begin + Split(end - begin);
    std::vector<Hash> path = m < split ? Path(m, begin, split) : Path(m, split, end);
    path.push_back(m < split ? Root(split, end) : Root(begin, split));
    return path;
  }

  // SUBPROOF(m, D[begin:end], known), section 2.1.2; m counted from leaf 0.
  std::vector<Hash> Subproof(uint64_t m, uint64_t begin, uint64_t end, bool known) {
    if (m == end) return known ? std::vector<Hash>() : std::vector<Hash>{Root(begin, end)};
    const uint64_t split = begin + Split(end - begin);
    std::vector<Hash> proof =
        m <= split ? Subproof(m, begin, split, known) : Subproof(m, split, end, false);
    proof.push_back(m <= split ? Root(split, end) : Root(begin, split));
    return proof;
  }

  // The perfect subtrees of the first `size` leaves; asked for one that is not there, it says so.
  NodeSource Nodes(uint64_t size) {
    return [this, size](int level, uint64_t index) -> absl::StatusOr<Hash> {
      if (level < 0 || level > 63 || index >= (size >> level)) {
        return absl::OutOfRangeError(absl::StrCat("no subtree ", index, " of level ", level));
      }
      return Root(index << level, (index + 1) << level);
    };
  }

 private:
  // The largest power of two below n, for n > 1.
  static uint64_t Split(uint64_t n) {
    uint64_t split = 1;
    while (split < n - split) split *= 2;
    return split;
  }

  std::map<uint64_t, Hash> special_;
  std::map<std::pair<uint64_t, uint64_t>, Hash> roots_;
};

class TilesInMemory : public TileReader {
 public:
  absl::StatusOr<std::string> ReadTile(const TileId& id, int) override {
    ++reads;
    const auto tile = tiles.find(id);
    if (tile == tiles.end()) return absl::NotFoundError(TilePath(id.level, id.index, kTileWidth));
    return tile->second;
  }
  void Store(const std::map<TileId, std::string>& changed) {
    for (const auto& [id, bytes] : changed) tiles[id] = bytes;
  }

  std::map<TileId, std::string> tiles;
  int reads = 0;
};

// floor(size / 256^level) hashes of a level, 256 to a tile.
inline std::vector<SizedTile> ReferenceTiles(uint64_t size) {
  std::vector<SizedTile> tiles;
  int level = 0;
  for (uint64_t hashes = size; hashes > 0; hashes /= 256, ++level) {
    for (uint64_t first = 0; first < hashes; first += 256) {
      const uint64_t width = std::min<uint64_t>(256, hashes - first);
      tiles.push_back({{level, first / 256}, static_cast<int>(width)});
    }
  }
  return tiles;
}

}  // namespace dpledger::merkle
