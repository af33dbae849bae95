// The registry, rebuilt from its entries: the log of all ledgers' checkpoints, the name under which
// it is signed (its origin), and the keys that signed it.
//
// 1. Its root is computed here from all its entries, never taken from elsewhere.
// 2. Entry 0 names the first key; an entry that names a key makes it the current one.
// docs/formats.md defines the entries. A Registry is a value: copies are independent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ledger_store/checkpoint_store.h"
#include "merkle/checkpoint.h"
#include "merkle/signed_note.h"
#include "merkle/tile_tree.h"

namespace dpledger {

// A log's origin: the registry's own, or for a ledger the registry's origin, "/" and the ledger's
// name.
std::string OriginOf(std::string_view registry_origin, const std::string& log);

// A checkpoint whose signature was verified.
struct SignedCheckpoint {
  merkle::Checkpoint checkpoint;
  std::string note;
  uint64_t registry_index = 0;  // ledgers: index of the entry that registers it
};

// Verifies a log's stored checkpoint. DATA_LOSS if none of the keys signed it, or if its note and
// its stored fields differ.
absl::StatusOr<SignedCheckpoint> OpenStored(const v1::StoredCheckpoint& stored,
                                            std::string_view origin,
                                            const std::vector<merkle::VerifierKey>& keys);

class Registry {
 public:
  // A ledger's latest checkpoint in the registry.
  struct Registered {
    uint64_t index = 0;  // of the entry
    uint64_t size = 0;
    std::string root_hash;
    bool operator==(const Registered&) const = default;
  };

  // Reads the new entries of the stored registry, up to its end, and compares the root with its
  // checkpoint, which the current key must have signed. Does nothing if nothing is stored.
  // DATA_LOSS if entries, root and signatures do not fit together or the registry has become
  // shorter.
  absl::Status CatchUp(CheckpointReader& store);

  // Adds the next entry. DATA_LOSS if the bytes are not an entry, or the entry is not valid there.
  absl::Status Append(const std::string& entry);

  bool empty() const { return tree_.size() == 0; }
  uint64_t size() const { return tree_.size(); }
  merkle::Hash Root() const { return tree_.Root(); }
  // A copy of the tree, for adding the entries of the next publication.
  merkle::TileBuilder tree() const { return tree_; }

  // Empty while the registry is.
  const std::string& origin() const { return origin_; }
  // Oldest first; the last one signs.
  const std::vector<merkle::VerifierKey>& keys() const { return keys_; }
  // The latest checkpoint that CatchUp read; of size 0 before that.
  const SignedCheckpoint& checkpoint() const { return checkpoint_; }
  absl::Time last_recorded_time() const { return last_recorded_time_; }

  // The latest of each ledger, by the origin of the ledger's checkpoint.
  const std::map<std::string, Registered>& ledgers() const { return ledgers_; }

 private:
  absl::Status AppendKey(const v1::KeyRotate& rotate);

  merkle::TileBuilder tree_;
  std::string origin_;
  std::vector<merkle::VerifierKey> keys_;
  SignedCheckpoint checkpoint_;
  absl::Time last_recorded_time_ = absl::InfinitePast();
  std::map<std::string, Registered> ledgers_;
};

}  // namespace dpledger
