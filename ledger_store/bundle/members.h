// Which files a bundle holds, in which order, and how large each may be: the grammar that the
// writer follows and every reader demands (docs/formats.md, section "Bundles").
//
// Tiles stand in the order in which a growing tree completes them, each level-0 tile after its
// entries: a reader needs O(log size) memory, and can say at the first wrong byte what is wrong.
// Not thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "merkle/tile.h"
#include "registry/head.h"

namespace dpledger::bundle {

inline constexpr char kReadmeMember[] = "README";
inline constexpr char kKeysMember[] = "keys";
inline constexpr char kRegistryCheckpointMember[] = "registry/checkpoint";
inline constexpr char kRegisteredMember[] = "registry/entry";
inline constexpr char kRegisteredProofMember[] = "registry/proof";
inline constexpr char kMapEntryMember[] = "registry/map/entry";
inline constexpr char kMapProofMember[] = "registry/map/proof";
inline constexpr char kMapPathMember[] = "registry/map/path";
inline constexpr char kPointsMember[] = "registry/points";
inline constexpr char kCheckpointMember[] = "checkpoint";
inline constexpr char kEventsMember[] = "events.jsonl";
inline constexpr char kStatementMember[] = "statement.json";
// "registry/keys/0/entry": the registry's entry with line `index` of keys.
std::string KeyEntryMember(size_t index);
std::string KeyProofMember(size_t index);

// A registry never forgets a key, and every bundle has them all: the notary takes no more either.
inline constexpr size_t kMaxKeys = 256;
// Witnesses add signatures to the registry's checkpoint, which stands in every proof.
inline constexpr uint64_t kMaxTextBytes = uint64_t{1} << 20;
inline constexpr uint64_t kMaxProofBytes = uint64_t{2} << 20;
inline constexpr uint64_t kMaxMapPathBytes = 2 + 256 / 8 + uint64_t{256} * 32;
inline constexpr uint64_t kMaxPointsBytes = registry::kMaxPoints * registry::kPointBytes;
inline constexpr uint64_t kMaxEntriesBytes =
    uint64_t{merkle::kTileWidth} * (2 + merkle::kMaxEntryBytes);

// A tile or, under a tile of level 0, its entries.
struct TreeMember {
  bool entries = false;
  merkle::SizedTile tile;

  std::string Path() const;
};

// All tiles and entry bundles of a tree, in the bundle's order.
class TreeMembers {
 public:
  // Precondition: 1 <= size <= 2^63.
  explicit TreeMembers(uint64_t size) : size_(size) {}
  // Nothing after the last.
  std::optional<TreeMember> Next();

 private:
  uint64_t size_;
  uint64_t next_entries_ = 0;  // index of the next entry bundle
  // The tile that follows the one given last, if it is not an entry bundle.
  std::optional<merkle::TileId> next_tile_;
  int edge_level_ = 1;  // of the partial tiles at the end
};

}  // namespace dpledger::bundle
