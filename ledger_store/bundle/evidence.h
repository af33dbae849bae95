// Who vouches for the root of a ledger: its checkpoint, the registry in which that stands, and the
// keys that signed both. The first part of a bundle (docs/formats.md, section "Bundles"), checked
// member by member.
// Not thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "merkle/checkpoint.h"
#include "merkle/signed_note.h"

namespace dpledger::bundle {

// The bytes of those members. Every proof is a C2SP tlog-proof under registry_checkpoint.
struct Evidence {
  struct Key {
    std::string entry;  // of the registry, with key_rotate
    std::string proof;
  };
  std::string keys;  // C2SP verifier keys, one a line, in the order of their entries
  std::string registry_checkpoint;
  std::vector<Key> key_entries;  // one for each line of keys
  std::string registered;        // the registry's entry
  std::string registered_proof;
  std::string checkpoint;
};

// Checks the members in the order of its methods; each returns a difference (difference.h).
class EvidenceCheck {
 public:
  // Keys that the auditor has from elsewhere: at least one log key (type 0x01) among them must have
  // signed the registry's checkpoint, and every witness's key (type 0x04) must have cosigned it.
  // Without a log key the bundle's own keys are taken, which proves only that the bundle agrees
  // with itself.
  explicit EvidenceCheck(std::vector<merkle::VerifierKey> trusted);

  absl::Status Keys(std::string_view text);
  absl::Status RegistryCheckpoint(std::string_view text);
  absl::Status KeyEntry(std::string entry);
  absl::Status KeyProof(std::string_view text);  // of the entry before
  absl::Status Registered(std::string entry);
  absl::Status RegisteredProof(std::string_view text);
  absl::Status LedgerCheckpoint(std::string_view text);
  // Another checkpoint of the same ledger that the auditor holds; of class older.
  absl::Status Older(const merkle::Note& note) const;

  // How many keys the bundle has; known after Keys.
  size_t key_count() const { return keys_.size(); }
  const std::vector<merkle::VerifierKey>& keys() const { return keys_; }
  // No key was given: nothing but the bundle itself speaks for its keys.
  bool own_keys() const { return own_keys_; }
  // The keys that signed the registry's checkpoint, of those that are believed.
  const std::vector<merkle::VerifierKey>& signers() const { return signers_; }
  const merkle::Checkpoint& registry() const { return registry_; }
  const merkle::Checkpoint& checkpoint() const { return checkpoint_; }
  v1::LedgerState state() const { return registered_.state(); }

 private:
  absl::Status CheckInclusion(std::string_view difference_class, const std::string& where,
                              std::string_view proof, std::string_view entry,
                              v1::LedgerEntry& parsed) const;

  std::vector<merkle::VerifierKey> log_keys_;  // believed
  std::vector<merkle::VerifierKey> witnesses_;
  bool own_keys_ = false;
  std::vector<merkle::VerifierKey> keys_;
  std::vector<merkle::VerifierKey> signers_;
  std::string registry_note_;
  merkle::Checkpoint registry_;
  std::string entry_;  // whose proof comes next
  size_t proven_keys_ = 0;
  uint64_t last_key_index_ = 0;
  v1::Registered registered_;
  merkle::Checkpoint checkpoint_;
};

}  // namespace dpledger::bundle
