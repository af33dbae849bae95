// A Merkle tree kept as tiles: computes the tiles to write as it grows, and reads the roots of its
// subtrees back for proofs.
//
// 1. The builder's tiles depend on the leaves alone, not on how the leaves were grouped into calls.
// 2. Tiles that are read are not verified here. A caller that resumes from stored tiles compares
//    Root() with a root that it trusts; a caller that makes proofs from them verifies the proofs.
// No I/O but through the reader. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/sha256.h"
#include "merkle/tile.h"

namespace dpledger::merkle {

// A store of tiles.
class TileReader {
 public:
  virtual ~TileReader() = default;
  // At least the first `width` hashes of the tile, 32 bytes each; at most 256.
  virtual absl::StatusOr<std::string> ReadTile(const TileId& id, int width) = 0;
};

// The first `width` hashes of a tile. DATA_LOSS if the stored bytes are not a whole number of
// hashes, or are fewer than `width` or more than 256 hashes; errors of the reader as they are.
absl::StatusOr<std::vector<Hash>> ReadTileHashes(TileReader& reader, const TileId& id, int width);

// A source for proofs of trees of up to `tree_size` (<= 2^63) leaves: of each node reads one tile,
// INVALID_ARGUMENT unless all its leaves are in the tree; errors of ReadTileHashes. Caches the last
// tiles that it read (at most half a megabyte), because a proof needs several nodes of a tile. The
// reader must outlive it.
NodeSource NodesOf(TileReader& reader, uint64_t tree_size);

// The tiles at the right edge of a tree of `size` leaves (<= 2^63) that are not full, at most 8:
// all that TileBuilder::Resume reads.
std::vector<SizedTile> PartialTilesOf(uint64_t size);

class TileBuilder {
 public:
  // The empty tree.
  TileBuilder() = default;
  // The tree of `size` leaves whose tiles these are; reads PartialTilesOf(size). INVALID_ARGUMENT
  // if size > 2^63; errors of ReadTileHashes.
  static absl::StatusOr<TileBuilder> Resume(uint64_t size, TileReader& reader);

  // Computes one node's hash, amortised.
  void Append(const Hash& leaf_hash);

  uint64_t size() const { return tree_.size(); }
  Hash Root() const { return tree_.Root(); }

  // The tiles that are new or have grown since the start or the last call, with all their hashes.
  std::map<TileId, std::string> TakeChanged();

 private:
  struct Edge {
    std::string hashes;  // of the tile that is not yet full
    bool changed = false;
  };
  // The next hash of a tile level.
  void AddToTile(size_t tile_level, const Hash& hash);

  CompactTree tree_;
  std::vector<Edge> edges_;  // by tile level
  std::map<TileId, std::string> full_;
};

}  // namespace dpledger::merkle
