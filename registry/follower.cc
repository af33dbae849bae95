#include "registry/follower.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/absl_view.h"
#include "base/file.h"
#include "base/status.h"
#include "merkle/proof.h"
#include "merkle/sha256.h"
#include "merkle/text_lines.h"
#include "merkle/tile.h"
#include "merkle/tlog_proof.h"

namespace dpledger::registry {
namespace {

using merkle::Checkpoint;
using merkle::Note;

absl::Status Unfit(const Checkpoint& checkpoint, std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("the registry's files do not fit its signed checkpoint of ", checkpoint.size,
                   " entries: ", ToAbsl(what)));
}

Checkpoint CheckpointOf(const Note& note) { return *merkle::ParseCheckpoint(note.text); }

// An entry under the checkpoint with its tlog-proof; nothing if the source cannot prove it.
bool AddProven(uint64_t index, const Note& note, RegistrySource& source,
               ContradictionFiles& files) {
  const Checkpoint checkpoint = CheckpointOf(note);
  SourceTiles tiles(&source, checkpoint.size);
  const uint64_t bundle = index / merkle::kTileWidth;
  const int width = merkle::TileWidthIn(checkpoint.size, {0, bundle});
  const auto bytes = source.Read(merkle::EntriesPath(bundle, width));
  if (!bytes.ok()) return false;
  const auto entries = merkle::DecodeEntryBundle(*bytes, width);
  const auto hashes =
      merkle::InclusionProof(index, checkpoint.size, merkle::NodesOf(tiles, checkpoint.size));
  if (!entries.ok() || !hashes.ok()) return false;
  const std::string entry((*entries)[index % merkle::kTileWidth]);
  if (!merkle::VerifyInclusion(merkle::LeafHash(entry), index, checkpoint.size, checkpoint.root,
                               *hashes)
           .ok()) {
    return false;
  }
  merkle::TlogProof proof;
  proof.index = index;
  proof.hashes = *hashes;
  proof.checkpoint = note;
  const auto text = merkle::TlogProofText(proof);
  if (!text.ok()) return false;
  files[EntryFile(index)] = entry;
  files[EntryProofFile(index)] = *text;
  return true;
}

// The first `old_size` entries' root under the checkpoint, and the proof of it, as lines.
absl::StatusOr<std::string> ProofOfOtherPast(uint64_t old_size, const merkle::Hash& old_root,
                                             const Checkpoint& checkpoint, RegistrySource& source) {
  SourceTiles tiles(&source, checkpoint.size);
  const merkle::NodeSource nodes = merkle::NodesOf(tiles, checkpoint.size);
  ASSIGN_OR_RETURN(const merkle::Hash root, merkle::RootOf(old_size, nodes));
  ASSIGN_OR_RETURN(const std::vector<merkle::Hash> proof,
                   merkle::ConsistencyProof(old_size, checkpoint.size, nodes));
  RETURN_IF_ERROR(
      merkle::VerifyConsistency(old_size, root, checkpoint.size, checkpoint.root, proof));
  if (root == old_root) return absl::DataLossError("the tiles have the past that was accepted");
  std::string text = absl::StrCat(old_size, "\n", merkle::HashToBase64(root), "\n");
  for (const merkle::Hash& hash : proof) absl::StrAppend(&text, merkle::HashToBase64(hash), "\n");
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Follower>> Follower::Open(FollowerOptions options) {
  const bool log_key = std::any_of(
      options.trusted.begin(), options.trusted.end(),
      [](const merkle::VerifierKey& key) { return key.type == merkle::SignatureType::kEd25519; });
  if (!log_key) return absl::InvalidArgumentError("key: a key of the log must be given");
  std::unique_ptr<Follower> follower(new Follower(std::move(options)));
  RETURN_IF_ERROR(follower->Load());
  return follower;
}

absl::Status Follower::Load() {
  const absl::StatusOr<std::string> bytes = ReadFile(options_.state_file);
  if (absl::IsNotFound(bytes.status())) return absl::OkStatus();
  RETURN_IF_ERROR(bytes.status());
  const auto damaged = [&](std::string_view what) {
    return absl::DataLossError(absl::StrCat(options_.state_file, ": ", ToAbsl(what)));
  };
  const size_t hash_bytes = merkle::Hash().size();
  const std::string_view content =
      std::string_view(*bytes).substr(std::min(hash_bytes, bytes->size()));
  v1::RegistryState state;
  if (bytes->substr(0, hash_bytes) != merkle::ToBytes(merkle::Sha256({content})) ||
      !state.ParseFromArray(content.data(), static_cast<int>(content.size()))) {
    return damaged("is not what was kept: its checksum is another");
  }
  absl::StatusOr<RegistryLog> log = RegistryLog::FromState(state);
  if (!log.ok()) return damaged(FromAbsl(log.status().message()));
  absl::StatusOr<merkle::CompactTree> tree =
      merkle::CompactTree::FromFrontier(state.size(), absl::StrJoin(state.frontier(), ""));
  absl::StatusOr<Note> note = Note::Parse(state.note());
  if (!tree.ok() || !note.ok() || !merkle::ParseCheckpoint(note->text).ok())
    return damaged("holds no tree and checkpoint");
  accepted_ = {*std::move(log), *std::move(tree)};
  note_ = *std::move(note);
  return absl::OkStatus();
}

absl::Status Follower::Keep() {
  v1::RegistryState state = accepted_.log.ToState();
  for (const merkle::Hash& hash : accepted_.tree.frontier())
    state.add_frontier(merkle::ToBytes(hash));
  state.set_note(note_->ToText());
  const std::string content = state.SerializeAsString();
  RETURN_IF_ERROR(
      WriteFileDurably(options_.state_file, merkle::ToBytes(merkle::Sha256({content})) + content));
  kept_ = true;
  return absl::OkStatus();
}

absl::StatusOr<FollowRound> Follower::Follow(RegistrySource& source) {
  ASSIGN_OR_RETURN(const std::string text, source.Read("checkpoint"));
  const absl::StatusOr<Note> note = Note::Parse(text);
  if (!note.ok())
    return absl::DataLossError(
        absl::StrCat("the registry's checkpoint: ", note.status().message()));
  return Advance(*note, source);
}

absl::StatusOr<Checkpoint> Follower::Verified(const Note& note) const {
  absl::StatusOr<Checkpoint> checkpoint = merkle::ParseCheckpoint(note.text);
  if (!checkpoint.ok()) {
    return absl::DataLossError(
        absl::StrCat("the registry's checkpoint: ", checkpoint.status().message()));
  }
  if (note_.has_value() && checkpoint->origin != accepted_.log.origin()) {
    return absl::DataLossError(absl::StrCat("the registry's checkpoint: must be of ",
                                            accepted_.log.origin(), ", found ",
                                            checkpoint->origin));
  }
  std::vector<merkle::VerifierKey> keys = accepted_.log.keys();
  for (const merkle::VerifierKey& key : options_.trusted)
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  const auto signers = merkle::VerifyNote(note, keys);
  const bool by_a_log =
      signers.ok() && std::any_of(signers->begin(), signers->end(), [&](const auto& signer) {
        return keys[signer.key].type == merkle::SignatureType::kEd25519;
      });
  if (absl::IsPermissionDenied(signers.status()) || (signers.ok() && !by_a_log)) {
    return absl::PermissionDeniedError(
        "the registry's checkpoint is signed by none of the log's keys that are known here; if the "
        "server's key has changed, give the new one too");
  }
  RETURN_IF_ERROR(signers.status());
  return checkpoint;
}

absl::StatusOr<FollowRound> Follower::Advance(const Note& note, RegistrySource& source,
                                              absl::Time deadline) {
  evidence_.clear();
  if (!kept_) RETURN_IF_ERROR(Keep());
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Verified(note));
  FollowRound round;
  round.size = checkpoint.size;
  if (checkpoint.size < size()) {
    return Refuse(absl::StrCat("went back from ", size(), " entries to ", checkpoint.size),
                  kWentBack, note);
  }
  if (note_.has_value() && checkpoint.size == size()) {
    if (checkpoint.root == accepted_.tree.Root()) return round;
    return Contradicts(
        absl::StrCat("two roots are signed for its first ", checkpoint.size, " entries"), note);
  }
  if (!pending_.has_value() || pending_->log.size() > checkpoint.size) {
    pending_ = accepted_;
    if (!note_.has_value()) pending_->log = RegistryLog(checkpoint.origin);
  }
  absl::Status taken = TakeEntries(note, checkpoint.size, source, deadline, round);
  if (taken.ok()) taken = CheckEnd(note, checkpoint, source);
  if (!taken.ok()) {
    if (!absl::IsDeadlineExceeded(taken) && !absl::IsUnavailable(taken)) pending_.reset();
    return taken;
  }
  accepted_ = *std::move(pending_);
  pending_.reset();
  note_ = note;
  kept_ = false;
  RETURN_IF_ERROR(Keep());
  return round;
}

absl::Status Follower::TakeEntries(const Note& note, uint64_t size, RegistrySource& source,
                                   absl::Time deadline, FollowRound& round) {
  while (pending_->log.size() < size) {
    const uint64_t bundle = pending_->log.size() / merkle::kTileWidth;
    const int width = merkle::TileWidthIn(size, {0, bundle});
    ASSIGN_OR_RETURN(const std::string bytes, source.Read(merkle::EntriesPath(bundle, width)));
    const auto entries = merkle::DecodeEntryBundle(bytes, width);
    if (!entries.ok()) return Unfit(CheckpointOf(note), FromAbsl(entries.status().message()));
    for (size_t i = pending_->log.size() % merkle::kTileWidth; i < entries->size(); ++i)
      RETURN_IF_ERROR(TakeEntry((*entries)[i], note, source, round));
    if (pending_->log.size() < size && absl::Now() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("read ", pending_->log.size(), " of ", size, " entries so far"));
    }
  }
  return absl::OkStatus();
}

absl::Status Follower::TakeEntry(std::string_view entry, const Note& note, RegistrySource& source,
                                 FollowRound& round) {
  RegistryLog& log = pending_->log;
  if (const absl::Status taken = log.Take(entry); !taken.ok())
    return Contradicts(taken, note, source);
  pending_->tree.Append(merkle::LeafHash(entry));
  ++round.entries;
  const Point before = log.last_previous();
  if (!options_.prove_growth || log.last_registered().empty() || before.size == 0)
    return absl::OkStatus();
  const Point now = log.HeadOf(log.last_registered()).last;
  ASSIGN_OR_RETURN(const std::vector<merkle::Hash> proof,
                   source.ProveGrowth(log.last_registered().substr(log.origin().size() + 1),
                                      before.size, now.size));
  const absl::Status grows =
      merkle::VerifyConsistency(before.size, before.root, now.size, now.root, proof);
  ++round.growth_proofs;
  if (grows.ok()) return absl::OkStatus();
  return Refuse(absl::StrCat("entry ", now.index, " does not carry on entry ", before.index, " of ",
                             log.last_registered(), ": no proof shows that its first ", before.size,
                             " entries are a prefix of its first ", now.size),
                kNotProven, note);
}

absl::Status Follower::CheckPast(const Note& note, RegistrySource& source) {
  if (!note_.has_value()) return absl::OkStatus();
  const absl::StatusOr<std::string> proof =
      ProofOfOtherPast(size(), accepted_.tree.Root(), CheckpointOf(note), source);
  if (!proof.ok()) return absl::OkStatus();
  const absl::Status status = Contradicts(
      absl::StrCat("its first ", size(), " entries are others than those that were signed before"),
      note);
  evidence_[kConsistencyFile] = *proof;
  return status;
}

absl::Status Follower::CheckEnd(const Note& note, const Checkpoint& checkpoint,
                                RegistrySource& source) {
  if (pending_->tree.Root() != checkpoint.root) {
    RETURN_IF_ERROR(CheckPast(note, source));
    return Unfit(checkpoint, "its entries have another root");
  }
  if (pending_->log.keys().empty()) return Unfit(checkpoint, "no entry names its key");
  const auto current =
      merkle::OpenCheckpoint(note, checkpoint.origin, {&pending_->log.keys().back(), 1});
  if (!current.ok()) {
    return Contradicts(absl::StrCat("its checkpoint of ", checkpoint.size,
                                    " entries is not signed by the key that is current there"),
                       note);
  }
  if (pending_->log.ends_with_map()) return absl::OkStatus();
  return Contradicts(absl::StrCat("its ", checkpoint.size,
                                  " signed entries do not end with the root of the map of heads"),
                     note);
}

absl::Status Follower::Contradicts(const std::string& what, const Note& note) {
  return Refuse(what, kContradiction, note);
}

absl::Status Follower::Refuse(const std::string& what, const char* reason, const Note& note) {
  if (note_.has_value()) evidence_[kEarlierNoteFile] = note_->ToText();
  evidence_[kNoteFile] = note.ToText();
  return WithReason(absl::DataLossError(absl::StrCat("the registry: ", what)), {reason, {}});
}

absl::Status Follower::Contradicts(const absl::Status& refused, const Note& note,
                                   RegistrySource& source) {
  // Entries that do not fit may follow another past than the one that was accepted.
  RETURN_IF_ERROR(CheckPast(note, source));
  // Until here nothing said that these entries are those that were signed.
  std::map<std::string, std::string> metadata = ReasonOf(refused).metadata;
  std::vector<uint64_t> indices;
  for (const char* of : {"earlier", "later"}) {
    uint64_t index = 0;
    if (absl::SimpleAtoi(metadata[of], &index)) indices.push_back(index);
  }
  if (indices.empty()) indices.push_back(pending_->log.size());
  ContradictionFiles files;
  for (const uint64_t index : indices) {
    if (!AddProven(index, note, source, files))
      return Unfit(CheckpointOf(note), FromAbsl(refused.message()));
  }
  const absl::Status status = Contradicts(std::string(FromAbsl(refused.message())), note);
  evidence_.insert(files.begin(), files.end());
  return status;
}

}  // namespace dpledger::registry
