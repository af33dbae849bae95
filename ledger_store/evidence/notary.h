// Signs what the ledgers hold. A round reads the entries behind each ledger's last checkpoint
// again, hashes them, and signs the ledger's tree and then the registry's, in which the ledger's
// checkpoint is entered (docs/formats.md says the bytes).
//
//  1. Nothing is signed that was not read back from the store and hashed to the root that the
//  append
//     path computed by itself. A ledger that does not is never signed again.
//  2. A checkpoint is handed out only after it is durable in the store and the registry's is in the
//     second place.
//  3. One log never has two checkpoints of which neither is the beginning of the other, however
//  many
//     notaries work on one store: each publication names the registry's size that it carries on.
//  4. A store that holds less than what was signed of it, or something else, is refused at Open.
//  5. A round takes bounded memory: about 40 bytes for each of max_entries entries.
// Open, Sign: one thread. All else is thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "ledger_store/evidence/checkpoint_file.h"
#include "ledger_store/evidence/registry.h"
#include "ledger_store/store.h"
#include "merkle/ed25519.h"

namespace dpledger {

// Asks witnesses to cosign the registry's checkpoint `note` of `size` entries. `prove_from` gives
// the consistency proof from an older size that a witness knows. Called in every round, after the
// checkpoint is durable and before it is handed out; what it returns is added to the note, which
// has what it returned for it before.
using ConsistencyProver =
    std::function<absl::StatusOr<std::vector<merkle::Hash>>(uint64_t old_size)>;
using Cosigner = std::function<std::vector<merkle::NoteSignature>(
    const std::string& note, uint64_t size, const ConsistencyProver& prove_from)>;

struct NotaryOptions {
  std::shared_ptr<const merkle::Ed25519PrivateKey> key;
  // Only to change the key: the one that the registry was signed with before.
  std::shared_ptr<const merkle::Ed25519PrivateKey> previous_key;
  // What the registry is signed as. Empty: as it was; a new one as DefaultOrigin.
  std::string origin;
  std::string checkpoint_file;  // the second place; empty: none, for tests
  std::string holder;           // names this process to the others that sign; unlike theirs
  absl::Duration lease = absl::Seconds(60);
  uint64_t max_entries = 1'000'000;  // read again in a round, or twice as many
  size_t max_ledgers = 4096;         // signed in a round
  Clock* clock = Clock::System();
  Cosigner cosigner;  // may be empty
};

// "dpledger-" and the first 16 hexadecimal digits of the public key's SHA-256.
std::string DefaultOrigin(const merkle::Ed25519PublicKey& key);

struct SigningRound {
  uint64_t ledgers = 0;  // that were signed
  uint64_t entries = 0;  // that were read and hashed
  bool more = false;     // more waits to be signed: the next round should follow at once
};

// The registry as it may be handed out.
struct PublicRegistry {
  SignedCheckpoint checkpoint;
  std::vector<merkle::VerifierKey> keys;  // all that signed it, oldest first
  merkle::PrefixMap map;                  // of the ledgers' heads
};

// Where the registry registers a ledger.
struct Registrations {
  std::shared_ptr<const PublicRegistry> registry;
  std::vector<uint64_t> indices;  // of the entries, among those of its checkpoint
};

class Notary {
 public:
  // Checks the store against the registry, its checkpoints, its tiles and the second place, and
  // enters the first key or a new one. Reads the whole registry. `store` must outlive the notary.
  // DATA_LOSS (4); FAILED_PRECONDITION (KEY_MISMATCH: not the key that the registry is signed with,
  // ORIGIN_MISMATCH); INVALID_ARGUMENT for an origin that no note can have; errors of Sign.
  static absl::StatusOr<std::unique_ptr<Notary>> Open(NotaryOptions options, LedgerStore& store);

  // One round. Signs nothing while another process holds the lease, but takes over what that
  // published. DATA_LOSS: a ledger is not what was acknowledged or signed; the others are signed
  // first. ABORTED (SIGNER_REPLACED), UNAVAILABLE: try again later. FAILED_PRECONDITION
  // (KEY_MISMATCH: another process changed the key). INTERNAL (CHECKPOINT_FILE_FAILED): the second
  // place cannot be written.
  absl::StatusOr<SigningRound> Sign();

  // The latest of the log's checkpoints that may be handed out; nothing if there is none, or it was
  // published by another process and is not taken over yet. NOT_FOUND if there is no such ledger;
  // DATA_LOSS if what is stored of it does not verify.
  absl::StatusOr<std::optional<SignedCheckpoint>> Latest(const std::string& log) const;
  // Precondition: Sign has returned OK once. Never null after that.
  std::shared_ptr<const PublicRegistry> registry() const;
  // The registry and the ledger's registrations in it, of one moment. Same precondition.
  Registrations RegistrationsOf(const std::string& ledger) const;

 private:
  struct Draft;  // a publication being made

  Notary(NotaryOptions options, LedgerStore& store);

  std::string Origin() const;
  merkle::VerifierKey OwnKey() const;
  // Whether an entry has to name our key before it signs.
  bool KeyIsNew() const;
  absl::Status CheckOrigin() const;
  absl::Status CheckKey() const;

  absl::StatusOr<Draft> MakeDraft(uint64_t lease_epoch);
  absl::Status AddEntry(v1::LedgerEntry entry, Draft& draft) const;
  absl::Status AddLedger(const v1::Ledger& head, Draft& draft);
  absl::Status AddMapRoot(Draft& draft);
  absl::Status AddRegistry(Draft& draft) const;
  // How far the ledger is signed next. Its root was checked up to a head.
  absl::StatusOr<LedgerPoint> NextPoint(const v1::Ledger& head, const merkle::TileBuilder& tree,
                                        SigningRound& round);
  absl::StatusOr<std::string> SignedNote(const std::string& log, uint64_t size,
                                         const merkle::Hash& root) const;
  absl::Status Cosign(uint64_t lease_epoch);
  absl::Status MakePublic();

  const NotaryOptions options_;
  LedgerStore& store_;
  CheckpointFile second_place_;
  Registry registry_;
  std::string second_note_;        // what the second place holds
  std::set<std::string> refused_;  // ledgers that are not what was acknowledged
  std::string looked_at_;          // the last ledger that a round came to: the next goes on there
  // Points of ledgers that are far behind, each checked up to a head.
  std::map<std::string, std::vector<LedgerPoint>> surveyed_;

  mutable absl::Mutex mutex_;
  std::shared_ptr<const PublicRegistry> public_ ABSL_GUARDED_BY(mutex_);
  // By the ledger's origin: 8 bytes for each registration there ever was.
  std::unordered_map<std::string, std::vector<uint64_t>> registrations_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger
