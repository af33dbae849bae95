// A source of a registry's entries: a server, or a mirror of its files. Nothing that comes from it
// is believed before it is checked (registry/follower.h). Not thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "merkle/sha256.h"
#include "merkle/tile_tree.h"

namespace dpledger::registry {

class RegistrySource {
 public:
  virtual ~RegistrySource() = default;

  // A file of the registry by its C2SP tlog-tiles path: "checkpoint", "tile/0/x001/234",
  // "tile/entries/000.p/5". A partial file may be answered by a longer one. NOT_FOUND if there is
  // none.
  virtual absl::StatusOr<std::string> Read(const std::string& path) = 0;

  // The consistency proof that the first `old_size` entries of this ledger, by its name, are a
  // prefix of its first `new_size`. UNIMPLEMENTED where only the registry is kept.
  virtual absl::StatusOr<std::vector<merkle::Hash>> ProveGrowth(const std::string& ledger,
                                                                uint64_t old_size,
                                                                uint64_t new_size) = 0;
};

// The tiles of a source's registry of `size` entries, for proofs that are made from them.
class SourceTiles : public merkle::TileReader {
 public:
  // `source` must outlive this.
  SourceTiles(RegistrySource* source, uint64_t size) : source_(*source), size_(size) {}
  absl::StatusOr<std::string> ReadTile(const merkle::TileId& id, int width) override;

 private:
  RegistrySource& source_;
  const uint64_t size_;
};

// A mirror on disk: a folder with those files.
class FolderSource : public RegistrySource {
 public:
  explicit FolderSource(std::string folder) : folder_(std::move(folder)) {}
  absl::StatusOr<std::string> Read(const std::string& path) override;
  absl::StatusOr<std::vector<merkle::Hash>> ProveGrowth(const std::string& ledger,
                                                        uint64_t old_size,
                                                        uint64_t new_size) override;

 private:
  const std::string folder_;
};

}  // namespace dpledger::registry
