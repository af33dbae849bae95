// The registry as its entries tell it: the log of all ledgers' checkpoints, the name it is signed
// under (its origin), and the keys that signed it.
//
// 1. Every entry that it holds was hashed here; its root is never taken from elsewhere.
// 2. Entry 0 names the first key; an entry that names a key makes it the current one.
// docs/formats.md says what an entry is. A Registry is a value: copies are independent.
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

// What a log is signed as: the registry's origin, and behind it "/" and the name of a ledger.
std::string OriginOf(std::string_view registry_origin, const std::string& log);

// A checkpoint whose signature was verified.
struct SignedCheckpoint {
  merkle::Checkpoint checkpoint;
  std::string note;
  uint64_t registry_index = 0;  // ledgers: of the entry that registers it
};

// What is stored as a log's checkpoint, verified. DATA_LOSS if none of the keys signed it, or if it
// is not what is stored of it.
absl::StatusOr<SignedCheckpoint> OpenStored(const v1::StoredCheckpoint& stored,
                                            std::string_view origin,
                                            const std::vector<merkle::VerifierKey>& keys);

class Registry {
 public:
  // What the registry says of a ledger.
  struct Registered {
    uint64_t index = 0;  // of the entry
    uint64_t size = 0;
    std::string root_hash;
    bool operator==(const Registered&) const = default;
  };

  // Reads on to the end of the stored registry and compares with its checkpoint, which the current
  // key must have signed. Does nothing if nothing is stored. DATA_LOSS if entries, root and
  // signatures do not fit together or the registry has become shorter.
  absl::Status CatchUp(CheckpointReader& store);

  // Takes the next entry. DATA_LOSS if it is none, or not one that can stand there.
  absl::Status Append(const std::string& entry);

  bool empty() const { return tree_.size() == 0; }
  uint64_t size() const { return tree_.size(); }
  merkle::Hash Root() const { return tree_.Root(); }
  // A copy, to which the entries of the next publication are added.
  merkle::TileBuilder tree() const { return tree_; }

  // Nothing while it is empty.
  const std::string& origin() const { return origin_; }
  // Oldest first; the last one signs.
  const std::vector<merkle::VerifierKey>& keys() const { return keys_; }
  // The latest, as CatchUp found it; its size is 0 before.
  const SignedCheckpoint& checkpoint() const { return checkpoint_; }
  absl::Time last_recorded_time() const { return last_recorded_time_; }

  // By the origin of the ledger's checkpoint; what was said last.
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
