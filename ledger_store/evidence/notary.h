// Signs the ledgers' checkpoints. A round reads the entries after each ledger's last checkpoint
// again, hashes them, signs the ledger's tree, adds the checkpoint to the registry, and signs the
// registry's tree (docs/formats.md defines the bytes).
//
//  1. The notary signs only what it read back from the store and hashed to the root that the append
//     path computed independently. A ledger with another root is never signed again.
//  2. A checkpoint is published only after it is durable in the store and the registry's checkpoint
//     is in the second place.
//  3. Of any two checkpoints of a log, one is a prefix of the other, however many notaries work on
//     one store: each publication names the registry's size that it extends.
//  4. Open refuses a store that lacks something that was signed of it, or holds something else.
//  5. A round takes bounded memory: about 40 bytes for each of max_entries entries.
// Open and Sign: one thread at a time. Everything else is thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/entry_clock.h"
#include "ledger_store/evidence/registry.h"
#include "ledger_store/evidence/start_check.h"
#include "ledger_store/store.h"
#include "merkle/ed25519.h"

namespace dpledger {

// Asks witnesses to cosign the registry's checkpoint `note` of `size` entries. `prove_from` makes
// the consistency proof from an older size that a witness knows. The notary calls the cosigner in
// every round, after the checkpoint is durable and before it is published, and adds the returned
// signatures to the note. `note` contains those of earlier calls.
using ConsistencyProver =
    std::function<absl::StatusOr<std::vector<merkle::Hash>>(uint64_t old_size)>;
using Cosigner = std::function<std::vector<merkle::NoteSignature>(
    const std::string& note, uint64_t size, const ConsistencyProver& prove_from)>;

struct NotaryOptions {
  std::shared_ptr<const merkle::Ed25519PrivateKey> key;
  // Only for a change of key: the key that signed the registry before.
  std::shared_ptr<const merkle::Ed25519PrivateKey> previous_key;
  // The registry's origin. Empty: unchanged, or DefaultOrigin for a new registry.
  std::string origin;
  std::string checkpoint_file;  // the second place (checkpoint_file.h); empty: none, for tests
  std::string holder;           // names this process as a signer; unique among the signers
  absl::Duration lease = absl::Seconds(15);  // at least three rounds
  uint64_t max_entries =
      1'000'000;              // rough bound on those read again in a round: at most twice as many
  size_t max_ledgers = 4096;  // the most that are signed in a round
  Clock* clock = Clock::System();
  // Open reads a registry of so many entries, a second's worth; of a longer one only what its
  // signed end shows (registry.h), as long as that fits together.
  uint64_t read_at_most = 1'000'000;
  // How long Open looks at signatures and tiles; all other ledgers' are left_to_check().
  absl::Duration check_evidence_for = absl::Seconds(2);
  // Asked for signed notes of the registry of this origin if the second place is not there: a store
  // that was put back could not be told from a new one. An error refuses the start. May be empty.
  std::function<absl::StatusOr<std::vector<std::string>>(const std::string& origin)> elsewhere;
  Cosigner cosigner;  // may be empty
};

// Whoever signs reaches every ledger so often, however many there are.
inline constexpr absl::Duration kLongestUnsigned = absl::Minutes(10);

// "dpledger-" and the first 16 hexadecimal digits of the public key's SHA-256.
std::string DefaultOrigin(const merkle::Ed25519PublicKey& key);

struct SigningRound {
  uint64_t ledgers = 0;    // how many were signed
  uint64_t entries = 0;    // how many were read and hashed
  bool more = false;       // more entries wait to be signed: start the next round at once
  bool elsewhere = false;  // another process holds the lease
  // Whether the round shows that ledgers are signed: by this process, or by the holder of the
  // lease, which has renewed it and has nothing left to sign, or has published something within
  // kLongestUnsigned.
  bool alive = false;
  absl::Duration clock_jump;  // EntryClock::Jump
};

// The published state of the registry.
struct PublicRegistry {
  SignedCheckpoint checkpoint;
  std::vector<merkle::VerifierKey> keys;  // all keys that ever signed it, oldest first
  merkle::PrefixMap map;                  // of the ledgers' heads
};

class Notary {
 public:
  // Checks the store against the registry, its checkpoints, its tiles and the second place; adds
  // the first key, or a new key, to the registry. `store` must outlive the notary. DATA_LOSS
  // (invariant 4); FAILED_PRECONDITION (KEY_MISMATCH: another key signs the registry;
  // ORIGIN_MISMATCH); INVALID_ARGUMENT for an origin that is not allowed in a note; errors of Sign.
  static absl::StatusOr<std::unique_ptr<Notary>> Open(NotaryOptions options, LedgerStore& store);

  // Runs one round over all ledgers. While another process holds the lease, it signs nothing but
  // takes over what that process published. DATA_LOSS: a ledger is not what was acknowledged or
  // signed; the other ledgers are signed first. ABORTED (SIGNER_REPLACED), UNAVAILABLE: try again
  // later. FAILED_PRECONDITION (KEY_MISMATCH: another process changed the key). INTERNAL
  // (CHECKPOINT_FILE_FAILED): the second place cannot be written.
  absl::StatusOr<SigningRound> Sign() { return Round(nullptr); }
  // The same for these ledgers alone, and those that other processes want signed. While another
  // process holds the lease, it is told that they are wanted.
  absl::StatusOr<SigningRound> SignOnly(const std::set<std::string>& ledgers) {
    return Round(&ledgers);
  }

  // Gives the lease up, so that another process signs at once. Call it after the last Sign.
  absl::Status Release();

  // The log's latest published checkpoint; nullopt if there is none, or if another process
  // published it and this one has not taken it over yet. NOT_FOUND if there is no such ledger;
  // DATA_LOSS if the stored checkpoint does not verify.
  absl::StatusOr<std::optional<SignedCheckpoint>> Latest(const std::string& log) const;
  // What Open has compared with the registry only.
  const LeftToCheck& left_to_check() const { return left_to_check_; }
  // Why Open has read the whole of a long registry; empty if it has not.
  const std::string& why_read_whole() const { return why_read_whole_; }
  // The key that it signs by, under the registry's origin.
  merkle::VerifierKey OwnKey() const;
  // The recorded time of the registry's last entry; the past if it has none. As Sign, one thread at
  // a time.
  absl::Time last_recorded_time() const { return registry_.last_recorded_time(); }
  // Never null. Precondition: Sign has returned OK once.
  std::shared_ptr<const PublicRegistry> registry() const;
  // The registry's checkpoint whose entries and tiles may be read: durable, and perhaps not yet
  // published, as a witness reads what it is asked to cosign. Of size 0 at first.
  SignedCheckpoint Readable() const;

 private:
  struct Draft;  // a publication being made

  Notary(NotaryOptions options, LedgerStore& store);

  // Reads the registry, or takes it by its end; how many of its entries were not read then.
  absl::StatusOr<uint64_t> TakeRegistry();
  std::string Origin() const;
  // Whether the registry has to name this notary's key before the key may sign.
  bool KeyIsNew() const;
  // That the store holds what the second place says, or what is known elsewhere if that is lost.
  absl::Status CheckPlaces() const;
  absl::Status CheckOrigin() const;
  absl::Status CheckKey() const;

  // `only` null: all ledgers.
  absl::StatusOr<SigningRound> Round(const std::set<std::string>* only);
  // A round while another process holds the lease, which refused it with `refusal`.
  absl::StatusOr<SigningRound> Follow(const absl::Status& refusal, uint64_t size_before);
  absl::StatusOr<Draft> MakeDraft(uint64_t lease_epoch, const std::set<std::string>* only);
  // Of these ledgers, those that there are.
  absl::StatusOr<UnsignedLedgers> HeadsOf(const std::set<std::string>& ledgers) const;
  absl::Status AddEntry(v1::LedgerEntry entry, Draft& draft) const;
  absl::Status AddLedgers(const std::vector<v1::Ledger>& heads, Draft& draft);
  // `tail`: of its entries all that are not signed, or none.
  absl::Status AddLedger(const v1::Ledger& head, const Tail& tail, Draft& draft);
  absl::Status AddMapRoot(Draft& draft);
  absl::Status AddRegistry(Draft& draft) const;
  // Its checkpoint, without tiles.
  SignedLog SignedRegistry(std::string note, uint64_t size) const;
  // The point up to which the ledger is signed next. Its root was checked against a head.
  absl::StatusOr<LedgerPoint> NextPoint(const v1::Ledger& head, const merkle::TileBuilder& tree,
                                        SigningRound& round);
  absl::StatusOr<std::string> SignedNote(const std::string& log, uint64_t size,
                                         const merkle::Hash& root) const;
  absl::Status Cosign(uint64_t lease_epoch);
  void MakeReadable();
  absl::Status MakePublic();

  const NotaryOptions options_;
  LedgerStore& store_;
  const EntryClock entry_clock_;
  CheckpointFile second_place_;
  LeftToCheck left_to_check_;
  std::string why_read_whole_;
  Registry registry_;
  std::string other_beat_;         // of another holder of the lease
  absl::Duration other_grew_;      // by the steady clock: when that holder last published something
  std::string second_note_;        // the note in the second place
  std::set<std::string> refused_;  // ledgers that differ from what was acknowledged
  std::string looked_at_;  // the last ledger of the last round; the next round continues after it
  // Points of ledgers with many unsigned entries, each checked against a head.
  std::map<std::string, std::vector<LedgerPoint>> surveyed_;

  mutable absl::Mutex mutex_;
  std::shared_ptr<const PublicRegistry> public_ ABSL_GUARDED_BY(mutex_);
  SignedCheckpoint readable_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger
