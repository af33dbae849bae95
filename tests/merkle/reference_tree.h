// What the tests of this folder hold the implementation against: RFC 6962, section 2.1, written
// down as the document writes it, recursive and over whole lists of leaf hashes; and tiles in
// memory.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/tile_tree.h"

namespace dpledger::merkle {

// The largest power of two below n, for n > 1.
inline size_t ReferenceSplit(size_t n) {
  size_t split = 1;
  while (split * 2 < n) split *= 2;
  return split;
}

// MTH(D[n]), over hashes of leaves.
inline Hash ReferenceRoot(std::span<const Hash> leaves) {
  if (leaves.empty()) return Sha256({});
  if (leaves.size() == 1) return leaves[0];
  const size_t split = ReferenceSplit(leaves.size());
  return NodeHash(ReferenceRoot(leaves.first(split)), ReferenceRoot(leaves.subspan(split)));
}

// PATH(m, D[n]), section 2.1.1.
inline std::vector<Hash> ReferencePath(size_t m, std::span<const Hash> leaves) {
  if (leaves.size() == 1) return {};
  const size_t split = ReferenceSplit(leaves.size());
  std::vector<Hash> path;
  if (m < split) {
    path = ReferencePath(m, leaves.first(split));
    path.push_back(ReferenceRoot(leaves.subspan(split)));
  } else {
    path = ReferencePath(m - split, leaves.subspan(split));
    path.push_back(ReferenceRoot(leaves.first(split)));
  }
  return path;
}

// SUBPROOF(m, D[n], b), section 2.1.2.
inline std::vector<Hash> ReferenceSubproof(size_t m, std::span<const Hash> leaves, bool known) {
  if (m == leaves.size()) {
    if (known) return {};
    return {ReferenceRoot(leaves)};
  }
  const size_t split = ReferenceSplit(leaves.size());
  std::vector<Hash> proof;
  if (m <= split) {
    proof = ReferenceSubproof(m, leaves.first(split), known);
    proof.push_back(ReferenceRoot(leaves.subspan(split)));
  } else {
    proof = ReferenceSubproof(m - split, leaves.subspan(split), false);
    proof.push_back(ReferenceRoot(leaves.first(split)));
  }
  return proof;
}

inline std::vector<Hash> NumberedLeafHashes(size_t count) {
  std::vector<Hash> leaves;
  for (size_t i = 0; i < count; ++i) leaves.push_back(LeafHash(absl::StrCat("leaf ", i)));
  return leaves;
}

// Perfect subtrees of a list of leaves; asked for one that is not in it, it says so.
inline NodeSource NodesInMemory(std::span<const Hash> leaves) {
  return [leaves](int level, uint64_t index) -> absl::StatusOr<Hash> {
    const size_t count = size_t{1} << level;
    if ((index + 1) * count > leaves.size()) return absl::OutOfRangeError("not in the tree");
    return ReferenceRoot(leaves.subspan(index * count, count));
  };
}

class TilesInMemory : public TileReader {
 public:
  absl::StatusOr<std::string> ReadTile(const TileId& id, int) override {
    const auto tile = tiles.find(id);
    if (tile == tiles.end()) return absl::NotFoundError(TilePath(id.level, id.index, kTileWidth));
    return tile->second;
  }
  void Store(const std::map<TileId, std::string>& changed) {
    for (const auto& [id, bytes] : changed) tiles[id] = bytes;
  }

  std::map<TileId, std::string> tiles;
};

}  // namespace dpledger::merkle
