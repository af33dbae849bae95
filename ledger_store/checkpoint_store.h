// What is said of the ledgers and can be checked by others: each log's signed checkpoint, the tiles
// of its tree, and the registry, the log whose entries are the ledgers' checkpoints. The part of a
// store that the notary writes (ledger_store/evidence/notary.h), and that proofs are made from.
//
//  1. All of a publication is durable, or nothing of it: a checkpoint is never there without its
//     tiles.
//  2. A log's checkpoints only grow, and one signer at a time makes them: an old signer that lost
//     its lease without knowing is refused.
//  3. Tiles are derived from entries. They are checked before they are signed, not here.
// Thread safe. A log is a ledger, by its name, or the registry.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/stored.pb.h"
#include "merkle/tile.h"

namespace dpledger {

// The registry's name as a log. No ledger can have it.
inline constexpr char kRegistryLog[] = "";

// A log's new checkpoint, with the tiles that its tree has beyond the last one's.
struct SignedLog {
  std::string log;
  v1::StoredCheckpoint checkpoint;
  std::map<merkle::TileId, std::string> tiles;  // all hashes of the tile, 32 bytes each
};

// What a signer makes public at once.
struct Publication {
  uint64_t lease_epoch = 0;                   // of the lease under which it was made
  uint64_t registry_size = 0;                 // entries of the registry before it
  std::vector<std::string> registry_entries;  // that follow
  std::vector<SignedLog> logs;
};

class CheckpointReader {
 public:
  virtual ~CheckpointReader() = default;

  // NOT_FOUND if the log has none yet.
  virtual absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) = 0;

  // The tile's hashes, as far as they were published. NOT_FOUND if it was not.
  virtual absl::StatusOr<std::string> ReadTile(const std::string& log,
                                               const merkle::TileId& tile) = 0;

  // Entries [first, ...) of the registry: at most `max_entries`; empty at its end.
  virtual absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                                size_t max_entries) = 0;
};

class CheckpointStore : public CheckpointReader {
 public:
  // Leave to sign, for `duration` from now or until it is taken again by the same holder; its
  // epoch. One holder has it at a time, and a lost epoch never comes back. UNAVAILABLE (reason
  // SIGNER_ELSEWHERE) while another holder has it. An engine that one process owns always grants
  // it.
  virtual absl::StatusOr<uint64_t> AcquireLease(const std::string& holder,
                                                absl::Duration duration) = 0;

  // At most `limit` ledgers that are longer than their checkpoints: by name, first those after
  // `after`, then the others. Who goes on after the last one comes to each in turn.
  virtual absl::StatusOr<std::vector<v1::Ledger>> Unsigned(const std::string& after,
                                                           size_t limit) = 0;

  // ABORTED (reason SIGNER_REPLACED) if the lease or the registry's size is not what the
  // publication says; INVALID_ARGUMENT if a checkpoint is smaller than the log's last one or beyond
  // its entries; UNAVAILABLE after a disk error.
  virtual absl::Status Publish(const Publication& publication) = 0;
};

}  // namespace dpledger
