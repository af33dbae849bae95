// Who vouches for the root of a ledger: its checkpoint, the registry in which that is the ledger's
// last one, and the keys that signed both. The first part of a bundle (docs/formats.md, section
// "Bundles"), checked member by member. Not thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dpledger/v1/ledger.pb.h"
#include "merkle/checkpoint.h"
#include "merkle/prefix_map.h"
#include "merkle/signed_note.h"
#include "registry/head.h"

namespace dpledger::bundle {

// The members' bytes. Every proof is a C2SP tlog-proof under registry_checkpoint.
struct Evidence {
  struct Key {
    std::string entry;  // the registry's entry with key_rotate
    std::string proof;
  };
  std::string keys;  // C2SP verifier keys, one a line, in the order of their entries
  std::string registry_checkpoint;
  std::vector<Key> key_entries;  // one for each line of keys
  std::string registered;        // the registry's entry
  std::string registered_proof;
  // That this is the ledger's head at the registry's size. All empty in what was written before
  // registries had a map.
  std::string map_entry;  // the registry's last entry, with map_root
  std::string map_proof;
  std::string map_path;  // merkle::MapPath
  std::string points;    // registry::Point, each registration of the ledger
  std::string checkpoint;

  // What stands in a bundle, in its order.
  struct Member {
    std::string name;
    uint64_t max_bytes = 0;
    const std::string* content;
  };
  std::vector<Member> Members() const;
};

// Checks the members, in their order; errors are differences (difference.h).
class EvidenceCheck {
 public:
  // `trusted`: keys that the auditor has from another source. At least one of their log keys (type
  // 0x01) must have signed the registry's checkpoint, and every witness key (type 0x04) must have
  // cosigned it. Without a log key the check uses the bundle's own keys, which proves only that the
  // bundle is consistent.
  explicit EvidenceCheck(std::vector<merkle::VerifierKey> trusted);

  // The member to take next, without its content; nullopt after the last.
  std::optional<Evidence::Member> Next() const;
  absl::Status Take(std::string content);
  // Checks an older checkpoint of the same ledger that the auditor holds. A difference of class
  // older.
  absl::Status Older(const merkle::Note& note) const;

  const std::vector<merkle::VerifierKey>& keys() const { return keys_; }
  // Whether no log key was trusted, so that the bundle's own keys were used.
  bool own_keys() const { return own_keys_; }
  // The trusted keys that signed the registry's checkpoint.
  const std::vector<merkle::VerifierKey>& signers() const { return signers_; }
  // The witnesses that cosigned it, of those that are believed, and when each says that it did.
  struct Cosigner {
    merkle::VerifierKey key;
    uint64_t unix_seconds = 0;
  };
  const std::vector<Cosigner>& cosigners() const { return cosigners_; }
  // Signatures on it by keys that nobody brought, as name+id: they prove nothing.
  const std::vector<std::string>& unknown_signatures() const { return unknown_signatures_; }
  const merkle::Checkpoint& registry() const { return registry_; }
  const merkle::Checkpoint& checkpoint() const { return checkpoint_; }
  const merkle::Note& checkpoint_note() const { return checkpoint_note_; }
  v1::LedgerState state() const { return registered_.state(); }
  // When the registry entered the checkpoint, by the server's clock.
  int64_t registered_seconds() const { return registered_seconds_; }
  // Every registration of the ledger, the last one that of checkpoint(): their roots are to be
  // compared with those of its entries. Empty if the evidence has no map.
  const std::vector<registry::Point>& points() const { return points_; }

 private:
  friend struct Evidence;
  struct Step;
  static const std::vector<Step>& Steps();

  absl::Status Keys(std::string text);
  absl::Status RegistryCheckpoint(std::string text);
  absl::Status Entry(std::string entry);
  absl::Status KeyProof(std::string text);
  absl::Status RegisteredProof(std::string text);
  absl::Status MapProof(std::string text);
  absl::Status MapPath(std::string bytes);
  absl::Status Points(std::string bytes);
  absl::Status LedgerCheckpoint(std::string text);
  absl::StatusOr<v1::LedgerEntry> Included(std::string_view difference_class,
                                           const std::string& where, std::string_view proof) const;

  size_t step_ = 0;
  std::vector<merkle::VerifierKey> log_keys_;  // trusted
  std::vector<merkle::VerifierKey> witnesses_;
  bool own_keys_ = false;
  std::vector<merkle::VerifierKey> keys_;
  std::vector<merkle::VerifierKey> signers_;
  std::vector<Cosigner> cosigners_;
  std::vector<std::string> unknown_signatures_;
  std::string registry_note_;
  merkle::Checkpoint registry_;
  std::string entry_;  // the entry whose proof is next
  size_t proven_keys_ = 0;
  uint64_t last_key_index_ = 0;
  v1::Registered registered_;
  registry::Point registered_point_;
  int64_t registered_seconds_ = 0;
  merkle::Hash map_root_ = {};
  merkle::MapPath map_path_;
  std::vector<registry::Point> points_;
  merkle::Checkpoint checkpoint_;
  merkle::Note checkpoint_note_;
};

}  // namespace dpledger::bundle
