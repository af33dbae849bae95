// The members of a bundle, their order and their greatest sizes. The writer follows this grammar,
// and every reader requires it (docs/formats.md, section "Bundles").
//
// Tiles come in the order in which a growing tree completes them, each level-0 tile after its
// entries. So a reader needs O(log size) memory and can report the first wrong member at once. Not
// thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/substitute.h"
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
// $0: the line of keys that the registry's entry has.
inline constexpr char kKeyEntryMember[] = "registry/keys/$0/entry";
inline constexpr char kKeyProofMember[] = "registry/keys/$0/proof";
inline std::string KeyEntryMember(size_t index) { return absl::Substitute(kKeyEntryMember, index); }
inline std::string KeyProofMember(size_t index) { return absl::Substitute(kKeyProofMember, index); }

// A registry keeps all its keys, and every bundle holds all of them. The notary has the same limit.
inline constexpr size_t kMaxKeys = 256;
// Large enough for the signatures that witnesses add to the registry's checkpoint, which every
// proof contains.
inline constexpr uint64_t kMaxTextBytes = uint64_t{1} << 20;
inline constexpr uint64_t kMaxProofBytes = uint64_t{2} << 20;
inline constexpr uint64_t kMaxMapPathBytes = 2 + 256 / 8 + uint64_t{256} * 32;
inline constexpr uint64_t kMaxPointsBytes = registry::kMaxPoints * registry::kPointBytes;
inline constexpr uint64_t kMaxEntriesBytes =
    uint64_t{merkle::kTileWidth} * (2 + merkle::kMaxEntryBytes);

// A tile, or the entries under a tile of level 0.
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
  // nullopt after the last.
  std::optional<TreeMember> Next();

 private:
  uint64_t size_;
  uint64_t next_entries_ = 0;  // index of the next entry bundle
  // The next member, if it is a tile.
  std::optional<merkle::TileId> next_tile_;
  int edge_level_ = 1;  // the level of the next partial tile at the end
};

}  // namespace dpledger::bundle
