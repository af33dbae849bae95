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
#include "merkle/ed25519.h"
#include "merkle/signed_note.h"
#include "merkle/tile.h"
#include "merkle/tile_tree.h"
#include "registry/head.h"
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

// Who may sign for a registry: the key that it names last, or one that is given beside that key.
// OK if `key` signs for the registry, or may replace `previous` (null: none is given), or the
// registry has no entries. FAILED_PRECONDITION (KEY_MISMATCH) that names both keys;
// RESOURCE_EXHAUSTED (TOO_MANY_KEYS).
absl::Status CheckSigner(const Registry& registry, const merkle::Ed25519PrivateKey& key,
                         const merkle::Ed25519PrivateKey* previous);

// Where the registry registers a ledger: the indices of its entries, in order, in blocks of 256.
// They are kept among the ledger's tiles, at a level that no tree has, and written with each
// checkpoint: so nobody who answers for them has to hold them, or to read the registry. Derived:
// the entries say which ledger they register. docs/formats.md, section 2.

// The block that holds registration `point` of a ledger, counted from 0.
merkle::TileId RegistrationsTile(uint64_t point);

// The block of the ledger's next registration, with that. `stored`: the block as it is stored,
// empty if it is not. DATA_LOSS unless the last registration is where it belongs.
absl::StatusOr<std::string> WithRegistration(const std::string& ledger, const registry::Head& last,
                                             std::string stored, uint64_t index);

// The indices of registrations [first, end) of the ledger. DATA_LOSS if a block is not there, or
// its indices do not rise.
absl::StatusOr<std::vector<uint64_t>> ReadRegistrations(CheckpointReader& store,
                                                        const std::string& ledger, uint64_t first,
                                                        uint64_t end);

// How many of the ledger's first `points` registrations are below entry `index`.
absl::StatusOr<uint64_t> CountRegistrations(CheckpointReader& store, const std::string& ledger,
                                            uint64_t points, uint64_t index);

}  // namespace dpledger
