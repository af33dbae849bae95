// A Merkle tree cut into files that anyone can serve: C2SP tlog-tiles
// (https://c2sp.org/tlog-tiles). A tile holds up to 256 consecutive hashes of every eighth level of
// the tree; an entry bundle holds the entries under a tile of level 0.
//
// 1. A tile changes only by growing on the right, until it has 256 hashes.
// 2. Every tile has one path: ParseTilePath refuses what TilePath and EntriesPath do not write.
// No I/O. Thread safe.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dpledger::merkle {

inline constexpr int kTileHeight = 8;   // levels of the tree in a tile
inline constexpr int kTileWidth = 256;  // hashes in a full tile
inline constexpr int kHashBytes = 32;
inline constexpr uint64_t kMaxTreeSize = uint64_t{1} << 63;
inline constexpr size_t kMaxEntryBytes = 65535;  // the length prefix has 16 bits

// Hash i of the tile is the root of the 256^level leaves from (index * 256 + i) * 256^level on.
struct TileId {
  int level = 0;
  uint64_t index = 0;
  auto operator<=>(const TileId&) const = default;
};

// A tile and how many hashes it has: 1..256.
struct SizedTile {
  TileId id;
  int width = 0;
  auto operator<=>(const SizedTile&) const = default;
};

// The hashes that this tile has in a tree of `size` leaves; 0 if it has none.
int TileWidthIn(uint64_t size, const TileId& id);

// "tile/0/x001/x234/067", with ".p/<width>" behind it if width < 256. Level 0..63, width 1..256.
std::string TilePath(int level, uint64_t index, int width);
// "tile/entries/…".
std::string EntriesPath(uint64_t index, int width);

struct ParsedTilePath {
  bool entries = false;  // an entry bundle; the level is then 0
  SizedTile tile;
};
// INVALID_ARGUMENT for anything that TilePath and EntriesPath do not write.
absl::StatusOr<ParsedTilePath> ParseTilePath(std::string_view path);

// Each entry after its length as a big-endian uint16. INVALID_ARGUMENT unless there are 1..256
// entries of at most 65,535 bytes.
absl::StatusOr<std::string> EncodeEntryBundle(std::span<const std::string> entries);
// The first `count` (1..256) entries, as views into `bytes`, which may hold more of them: a bundle
// grows as a tile does. INVALID_ARGUMENT if there are fewer, if one is cut short, or if there are
// more than 256.
absl::StatusOr<std::vector<std::string_view>> DecodeEntryBundle(std::string_view bytes, int count);

}  // namespace dpledger::merkle
