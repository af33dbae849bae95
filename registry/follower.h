// Watches a registry: reads every entry, remembers what the registry said, and notices when it says
// something else. An auditor's follower and a witness differ only in what they do afterwards.
//
//  1. Everything that it accepts is durable before Follow or Advance returns.
//  2. A checkpoint is accepted only if the current key signed it, its entries hash to its root,
//     they carry on those accepted before, each of them may stand where it does
//     (registry/registry_log.h), and the last one has the root of the map.
//  3. A refused checkpoint is handed out as evidence that others can check.
// It cannot see the contents of ledgers' entries, or a ledger that nobody registered.
// Not thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "merkle/checkpoint.h"
#include "merkle/compact_tree.h"
#include "merkle/signed_note.h"
#include "registry/contradiction.h"
#include "registry/registry_log.h"
#include "registry/registry_source.h"

namespace dpledger::registry {

struct FollowerOptions {
  std::string state_file;
  // Log keys (type 0x01) that the follower has from elsewhere: one of them must have signed what is
  // read first. The registry names the ones that follow.
  std::vector<merkle::VerifierKey> trusted;
  // Asks the source to prove that each registered size of a ledger begins the next one.
  bool prove_growth = false;
};

struct FollowRound {
  uint64_t size = 0;           // of the registry, accepted
  uint64_t entries = 0;        // that were new
  uint64_t growth_proofs = 0;  // that were checked
};

class Follower {
 public:
  // Goes on from the state file, if there is one. DATA_LOSS, naming the file, if it is damaged;
  // INVALID_ARGUMENT without a trusted log key.
  static absl::StatusOr<std::unique_ptr<Follower>> Open(FollowerOptions options);

  // Takes the checkpoint that the source shows. DATA_LOSS with evidence(): kContradiction if what
  // was signed cannot all be true; kWentBack and kNotProven (registry_log.h), which prove nothing
  // against the signer. DATA_LOSS without a reason if the source's files do not fit what was
  // signed; PERMISSION_DENIED if none of the keys signed; errors of the source and of the disk as
  // they are.
  absl::StatusOr<FollowRound> Follow(RegistrySource& source);
  // Takes this checkpoint, whose entries the source has. Stops after `deadline` with
  // DEADLINE_EXCEEDED, at least one file of entries further, and goes on from there at the next
  // call.
  absl::StatusOr<FollowRound> Advance(const merkle::Note& note, RegistrySource& source,
                                      absl::Time deadline = absl::InfiniteFuture());

  // Of the last call that returned one of those reasons.
  const ContradictionFiles& evidence() const { return evidence_; }

  uint64_t size() const { return accepted_.log.size(); }
  const RegistryLog& log() const { return accepted_.log; }
  // The note that was accepted last; nothing at first.
  const std::optional<merkle::Note>& checkpoint() const { return note_; }

 private:
  struct State {
    RegistryLog log{""};
    merkle::CompactTree tree;
  };

  explicit Follower(FollowerOptions options) : options_(std::move(options)) {}

  absl::Status Load();
  absl::Status Keep();
  absl::StatusOr<merkle::Checkpoint> Verified(const merkle::Note& note) const;
  absl::Status TakeEntries(const merkle::Note& note, uint64_t size, RegistrySource& source,
                           absl::Time deadline, FollowRound& round);
  absl::Status TakeEntry(std::string_view entry, const merkle::Note& note, RegistrySource& source,
                         FollowRound& round);
  // A contradiction if the source proves that the checkpoint carries on another past than ours.
  absl::Status CheckPast(const merkle::Note& note, RegistrySource& source);
  absl::Status CheckEnd(const merkle::Note& note, const merkle::Checkpoint& checkpoint,
                        RegistrySource& source);
  // DATA_LOSS of that reason, with this note and the one accepted before as evidence.
  absl::Status Refuse(const std::string& what, const char* reason, const merkle::Note& note);
  // A contradiction with the checkpoint accepted before.
  absl::Status Contradicts(const std::string& what, const merkle::Note& note);
  // A contradiction between entries under one checkpoint. Evidence that proves nothing is left out.
  absl::Status Contradicts(const absl::Status& refused, const merkle::Note& note,
                           RegistrySource& source);

  const FollowerOptions options_;
  State accepted_;
  std::optional<merkle::Note> note_;
  bool kept_ = true;              // accepted_ and note_ are durable
  std::optional<State> pending_;  // on the way to a checkpoint
  ContradictionFiles evidence_;
};

}  // namespace dpledger::registry
