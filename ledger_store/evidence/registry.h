// The registry: the log of all ledgers' checkpoints, the name under which it is signed (its
// origin), and the keys that signed it.
//
//  1. Its root is never taken from elsewhere: it is that of the entries, hashed here, or of the
//     stored tiles, and the current key signed it.
//  2. Entries that are read are checked (registry/registry_log.h). One that resumes reads few of
//     them: the keys and the last one, which the signed root covers. The ledgers' heads are then
//     what the ledgers' checkpoints keep of them, and have the map's root that the last entry
//     says: so they are the heads that reading all entries comes to.
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
#include "ledger_store/store.h"
#include "merkle/checkpoint.h"
#include "merkle/signed_note.h"
#include "merkle/tile_tree.h"
#include "registry/registry_log.h"

namespace dpledger {

// A log's origin: the registry's own, or for a ledger the registry's origin, "/" and the ledger's
// name.
std::string OriginOf(std::string_view registry_origin, const std::string& log);

// A checkpoint whose signature was verified.
struct SignedCheckpoint {
  merkle::Checkpoint checkpoint;
  std::string note;
  registry::Head head;  // ledgers: as the stored checkpoint says, which the registry's map binds
};

// What is stored of a ledger's checkpoint that the registry has as this head.
v1::StoredCheckpoint ToStored(std::string note, const registry::Head& head);

// Verifies a log's stored checkpoint. DATA_LOSS if none of the keys signed it, or if its note and
// its stored fields differ.
absl::StatusOr<SignedCheckpoint> OpenStored(const v1::StoredCheckpoint& stored,
                                            std::string_view origin,
                                            const std::vector<merkle::VerifierKey>& keys);

class Registry {
 public:
  // Reads the new entries of the stored registry, up to its end, and compares the root with its
  // checkpoint, which the current key must have signed. Does nothing if nothing is stored.
  // DATA_LOSS if entries, root, map and signatures do not fit together or the registry has become
  // shorter.
  absl::Status CatchUp(CheckpointReader& store);

  // Takes the stored registry as its signed end shows it (2.), however long it is; CatchUp goes on
  // from there. DATA_LOSS if something does not fit together, also where what the ledgers'
  // checkpoints keep is wrong and the registry is whole; UNIMPLEMENTED of LatestOfAll. The registry
  // is then as it was. Precondition: empty.
  absl::Status Resume(LedgerReader& store);

  // Adds the next entry. DATA_LOSS if the bytes are not an entry, or the entry is not valid there.
  absl::Status Append(std::string_view entry);

  bool empty() const { return log_.size() == 0; }
  uint64_t size() const { return log_.size(); }
  merkle::Hash Root() const { return tree_.Root(); }
  // A copy of the tree, for adding the entries of the next publication.
  merkle::TileBuilder tree() const { return tree_; }

  // Empty while the registry is.
  const std::string& origin() const { return log_.origin(); }
  // Oldest first; the last one signs.
  const std::vector<merkle::VerifierKey>& keys() const { return log_.keys(); }
  const std::vector<uint64_t>& key_entries() const { return log_.key_entries(); }
  // The latest checkpoint that CatchUp read; of size 0 before that.
  const SignedCheckpoint& checkpoint() const { return checkpoint_; }
  absl::Time last_recorded_time() const { return log_.last_recorded_time(); }

  // The latest registration of each ledger, by the origin of the ledger's checkpoint.
  const std::map<std::string, registry::Head>& ledgers() const { return log_.ledgers(); }
  registry::Head HeadOf(const std::string& ledger_origin) const {
    return log_.HeadOf(ledger_origin);
  }
  const merkle::PrefixMap& map() { return log_.map(); }

 private:
  registry::RegistryLog log_{""};
  merkle::TileBuilder tree_;
  SignedCheckpoint checkpoint_;
};

}  // namespace dpledger
