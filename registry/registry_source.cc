#include "registry/registry_source.h"

#include "absl/status/status.h"
#include "base/file.h"
#include "merkle/tile.h"

namespace dpledger::registry {

absl::StatusOr<std::string> SourceTiles::ReadTile(const merkle::TileId& id, int) {
  return source_.Read(merkle::TilePath(id.level, id.index, merkle::TileWidthIn(size_, id)));
}

absl::StatusOr<std::string> FolderSource::Read(const std::string& path) {
  return ReadFile(folder_ + "/" + path);
}

absl::StatusOr<std::vector<merkle::Hash>> FolderSource::ProveGrowth(const std::string&, uint64_t,
                                                                    uint64_t) {
  return absl::UnimplementedError("a mirror of the registry has no proofs of ledgers");
}

}  // namespace dpledger::registry
