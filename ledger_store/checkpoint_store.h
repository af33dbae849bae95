// The evidence that a store keeps of its ledgers: each log's signed checkpoint, the tiles of its
// tree, and the registry, the log whose entries are the ledgers' checkpoints. The notary writes it
// (ledger_store/evidence/notary.h), and proofs are made from it.
//
//  1. A publication is durable as a whole or not at all: no checkpoint is stored without its tiles.
//  2. A log's checkpoints only grow, and one signer at a time makes them: the store refuses a
//     signer that has lost its lease without knowing.
//  3. Tiles are derived from entries. The notary checks them before it signs; the store does not.
// Thread safe. A log is a ledger, by its name, or the registry.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/stored.pb.h"
#include "merkle/tile.h"
#include "merkle/tile_tree.h"

namespace dpledger {

// The registry's name as a log. No ledger can have it.
inline constexpr char kRegistryLog[] = "";
// In messages.
inline std::string LogName(const std::string& log) {
  return log == kRegistryLog ? "the registry" : log;
}
// "projects/p/ledgers/x" of the origin "HOST/projects/p/ledgers/x"; what is no such origin as it
// is.
std::string NameFromOrigin(const std::string& origin);
// DATA_LOSS: the log has the entry, but it is not there.
absl::Status EntryMissing(const std::string& log, uint64_t sequence);
// ABORTED (SIGNER_REPLACED).
absl::Status SignerReplaced(const std::string& what);

// A log's new checkpoint, with the tiles that are new or wider since its last one.
struct SignedLog {
  std::string log;
  v1::StoredCheckpoint checkpoint;
  std::map<merkle::TileId, std::string> tiles;  // all hashes of the tile, 32 bytes each
};

// What a signer publishes in one step.
struct Publication {
  uint64_t lease_epoch = 0;                   // epoch of the lease under which it was made
  uint64_t registry_size = 0;                 // entries of the registry before it
  std::vector<std::string> registry_entries;  // the entries that follow
  std::vector<SignedLog> logs;
};

// A ledger that cannot be read while others can: DATA_LOSS.
struct DamagedLedger {
  std::string name;
  absl::Status status;
};

// Ledgers that are longer than their checkpoints.
struct UnsignedLedgers {
  std::vector<v1::Ledger> ledgers;
  std::vector<DamagedLedger> damaged;
  std::string last;  // the name that came last, of both; empty: there was none
};

class CheckpointReader {
 public:
  virtual ~CheckpointReader() = default;

  // NOT_FOUND if the log has none yet.
  virtual absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) = 0;

  // Those of all logs that have one, by name, as they stood at one moment. Memory: some hundred
  // bytes a log. UNIMPLEMENTED where a store keeps no such moment.
  virtual absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> LatestOfAll() {
    return absl::UnimplementedError("this store cannot read all checkpoints at once");
  }

  // The tile's published hashes. NOT_FOUND if the tile was not published.
  virtual absl::StatusOr<std::string> ReadTile(const std::string& log,
                                               const merkle::TileId& tile) = 0;

  // Entries [first, ...) of the registry: at most `max_entries`; empty at its end.
  virtual absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                                size_t max_entries) = 0;
};

// The published tiles of a log. A missing tile is DATA_LOSS, because only tiles that a checkpoint
// covers are read.
class LogTiles : public merkle::TileReader {
 public:
  // `store` must outlive this.
  LogTiles(CheckpointReader& store, std::string log) : store_(store), log_(std::move(log)) {}
  absl::StatusOr<std::string> ReadTile(const merkle::TileId& id, int width) override;

 private:
  CheckpointReader& store_;
  const std::string log_;
};
// DATA_LOSS: the tile of the log is covered by a checkpoint, but not there.
absl::Status MissingTile(const std::string& log, const merkle::TileId& id, int width);

class CheckpointStore : public CheckpointReader {
 public:
  // Acquires or renews the lease to sign; returns its epoch. One holder has the lease at a time,
  // and the epoch of a lost lease never comes back. UNAVAILABLE (reason SIGNER_ELSEWHERE) while
  // another holder has the lease; the error's metadata `beat` changes with every renewal. The
  // lease passes to another holder when it was released, or when that holder has seen no renewal
  // for `duration`, by the clock of its own machine. An engine that one process owns always grants
  // it.
  virtual absl::StatusOr<uint64_t> AcquireLease(const std::string& holder,
                                                absl::Duration duration) = 0;

  // Gives the holder's lease up, so that another one gets it at once. Does nothing if the holder
  // has none.
  virtual absl::Status ReleaseLease(const std::string& /*holder*/) { return absl::OkStatus(); }

  // At most `limit` ledgers that are longer than their checkpoints: by name, first those after
  // `after`, then the others. A caller that passes `last` as the next `after` reaches every ledger
  // in turn. Their writers may be left out.
  virtual absl::StatusOr<UnsignedLedgers> Unsigned(const std::string& after, size_t limit) = 0;

  // Tells whoever holds the lease that somebody waits for these ledgers' signatures; and takes what
  // was told so. An engine that one process owns has nobody to tell.
  virtual absl::Status Want(const std::vector<std::string>& /*ledgers*/) {
    return absl::OkStatus();
  }
  virtual absl::StatusOr<std::vector<std::string>> TakeWanted() {
    return std::vector<std::string>();
  }

  // Stores the publication. ABORTED (reason SIGNER_REPLACED) if its lease epoch or registry size is
  // not the present one; INVALID_ARGUMENT if a checkpoint is smaller than the log's last one or
  // beyond the log's entries; UNAVAILABLE after a disk error.
  virtual absl::Status Publish(const Publication& publication) = 0;
};

}  // namespace dpledger
