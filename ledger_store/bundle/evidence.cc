#include "ledger_store/bundle/evidence.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "ledger_store/bundle/difference.h"
#include "ledger_store/bundle/members.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/text_lines.h"
#include "merkle/tlog_proof.h"

namespace dpledger::bundle {
namespace {

using merkle::Checkpoint;
using merkle::Note;
using merkle::SignatureType;
using merkle::VerifierKey;

bool Contains(const std::vector<VerifierKey>& keys, const VerifierKey& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// A note that is a checkpoint.
struct SignedCheckpoint {
  Note note;
  Checkpoint checkpoint;
};
absl::StatusOr<SignedCheckpoint> ParseSigned(std::string_view text) {
  absl::StatusOr<Note> note = Note::Parse(text);
  if (!note.ok()) return note.status();
  absl::StatusOr<Checkpoint> checkpoint = merkle::ParseCheckpoint(note->text);
  if (!checkpoint.ok()) return checkpoint.status();
  return SignedCheckpoint{*std::move(note), *std::move(checkpoint)};
}

std::string NamesOfSignatures(const Note& note) {
  std::string names;
  for (const merkle::NoteSignature& signature : note.signatures) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", signature.name, "+",
                    absl::Hex(signature.key_id, absl::kZeroPad8));
  }
  return names;
}

// The keys that signed the note.
absl::StatusOr<std::vector<VerifierKey>> Signers(std::string_view where, const Note& note,
                                                 const std::vector<VerifierKey>& keys) {
  const auto verified = merkle::VerifyNote(note, keys);
  if (absl::IsPermissionDenied(verified.status())) {
    return Differs(kSignatureClass, where, "signed by a trusted key", NamesOfSignatures(note));
  }
  if (!verified.ok()) return Differs(kSignatureClass, where, FromAbsl(verified.status().message()));
  std::vector<VerifierKey> signers;
  for (const merkle::VerifiedSignature& signature : *verified) {
    signers.push_back(keys[signature.key]);
  }
  return signers;
}

// Whether the entry's bytes are the one spelling of an entry of the registry: what a reader skips,
// or takes the last of two of, could tell another one something else.
bool IsCanonical(const v1::LedgerEntry& entry, std::string_view bytes) {
  v1::LedgerEntry plain;
  plain.set_sequence(entry.sequence());
  *plain.mutable_recorded_time() = entry.recorded_time();
  if (entry.has_key_rotate()) {
    *plain.mutable_key_rotate() = entry.key_rotate();
  } else {
    *plain.mutable_registered() = entry.registered();
  }
  plain.DiscardUnknownFields();
  return plain.SerializeAsString() == bytes && entry.recorded_time().seconds() % 60 == 0 &&
         entry.recorded_time().nanos() == 0;
}

std::string Text(const Checkpoint& checkpoint) {
  return absl::StrCat(Quoted(checkpoint.origin), " of size ", checkpoint.size, " and root ",
                      HexEncode(merkle::ToBytes(checkpoint.root)));
}

}  // namespace

EvidenceCheck::EvidenceCheck(std::vector<VerifierKey> trusted) {
  for (VerifierKey& key : trusted) {
    (key.type == SignatureType::kEd25519 ? log_keys_ : witnesses_).push_back(std::move(key));
  }
  own_keys_ = log_keys_.empty();
}

absl::Status EvidenceCheck::Keys(std::string_view text) {
  while (!text.empty()) {
    const std::string where = absl::StrCat(kKeysMember, ", line ", keys_.size() + 1);
    if (keys_.size() == kMaxKeys)
      return Differs(kKeysClass, where, absl::StrCat("there are more than ", kMaxKeys, " keys"));
    const std::optional<std::string_view> line = merkle::TakeLine(text);
    if (!line.has_value()) return Differs(kKeysClass, where, "must end with a newline");
    absl::StatusOr<VerifierKey> key = VerifierKey::Parse(*line);
    if (!key.ok() || key->type != SignatureType::kEd25519) {
      return Differs(kKeysClass, where, "must be a C2SP verifier key of type 0x01");
    }
    if (Contains(keys_, *key)) return Differs(kKeysClass, where, "repeats a line before");
    keys_.push_back(*std::move(key));
  }
  if (keys_.empty()) return Differs(kKeysClass, kKeysMember, "must have at least one key");
  if (own_keys_) log_keys_ = keys_;
  return absl::OkStatus();
}

absl::Status EvidenceCheck::RegistryCheckpoint(std::string_view text) {
  absl::StatusOr<SignedCheckpoint> read = ParseSigned(text);
  if (!read.ok()) {
    return Differs(kRegistryClass, kRegistryCheckpointMember, FromAbsl(read.status().message()));
  }
  absl::StatusOr<std::vector<VerifierKey>> signers =
      Signers(kRegistryCheckpointMember, read->note, log_keys_);
  if (!signers.ok()) return signers.status();
  for (const VerifierKey& witness : witnesses_) {
    const auto cosigned = Signers(kRegistryCheckpointMember, read->note, {witness});
    if (!cosigned.ok()) return cosigned.status();
  }
  for (const VerifierKey& key : keys_) {
    if (key.name == read->checkpoint.origin) continue;
    return Differs(
        kKeysClass, kKeysMember,
        absl::StrCat("keys named ", Quoted(read->checkpoint.origin), " as the registry's origin"),
        Quoted(key.name));
  }
  signers_ = *std::move(signers);
  registry_ = std::move(read->checkpoint);
  registry_note_ = text;
  return absl::OkStatus();
}

// That the registry has `entry` where the proof says.
absl::Status EvidenceCheck::CheckInclusion(std::string_view difference_class,
                                           const std::string& where, std::string_view proof,
                                           std::string_view entry, v1::LedgerEntry& parsed) const {
  const absl::StatusOr<merkle::TlogProof> read = merkle::ParseTlogProof(proof);
  if (!read.ok()) return Differs(difference_class, where, FromAbsl(read.status().message()));
  if (read->checkpoint.ToText() != registry_note_) {
    return Differs(difference_class, where, "its checkpoint must be registry/checkpoint");
  }
  const absl::Status included = merkle::VerifyInclusion(
      merkle::LeafHash(entry), read->index, registry_.size, registry_.root, read->hashes);
  if (!included.ok()) return Differs(difference_class, where, FromAbsl(included.message()));
  if (!parsed.ParseFromArray(entry.data(), static_cast<int>(entry.size())) ||
      parsed.sequence() != read->index) {
    return Differs(difference_class, where,
                   absl::StrCat("the entry must be entry ", read->index, " of the registry"));
  }
  if (!IsCanonical(parsed, entry)) {
    return Differs(difference_class, where,
                   "the entry must have a sequence, a recorded_time of a whole minute and a key or "
                   "a registered ledger, in the one spelling of a LedgerEntry");
  }
  return absl::OkStatus();
}

absl::Status EvidenceCheck::KeyEntry(std::string entry) {
  entry_ = std::move(entry);
  return absl::OkStatus();
}

absl::Status EvidenceCheck::KeyProof(std::string_view text) {
  const size_t i = proven_keys_;
  const std::string where = KeyProofMember(i);
  v1::LedgerEntry entry;
  absl::Status included = CheckInclusion(kKeysClass, where, text, entry_, entry);
  if (!included.ok()) return included;
  if (entry.key_rotate().verifier_key() != keys_[i].ToText()) {
    return Differs(kKeysClass, KeyEntryMember(i), keys_[i].ToText(),
                   Quoted(entry.key_rotate().verifier_key()));
  }
  if (i == 0 ? entry.sequence() != 0 : entry.sequence() <= last_key_index_) {
    return Differs(kKeysClass, where,
                   "the first key must be the registry's entry 0, each other one must come after "
                   "the one before");
  }
  last_key_index_ = entry.sequence();
  ++proven_keys_;
  // The registry that a trusted key signed says that this key signs too.
  if (proven_keys_ == keys_.size()) {
    for (const VerifierKey& key : keys_) {
      if (!Contains(log_keys_, key)) log_keys_.push_back(key);
    }
  }
  return absl::OkStatus();
}

absl::Status EvidenceCheck::Registered(std::string entry) {
  entry_ = std::move(entry);
  return absl::OkStatus();
}

absl::Status EvidenceCheck::RegisteredProof(std::string_view text) {
  v1::LedgerEntry entry;
  absl::Status included =
      CheckInclusion(kRegistryClass, kRegisteredProofMember, text, entry_, entry);
  if (!included.ok()) return included;
  registered_ = std::move(*entry.mutable_registered());
  if (registered_.size() > 0 && registered_.root_hash().size() == merkle::kHashBytes &&
      (registered_.state() == v1::OPEN || registered_.state() == v1::SEALED) &&
      registered_.origin().starts_with(registry_.origin + "/")) {
    return absl::OkStatus();
  }
  return Differs(kRegistryClass, kRegisteredMember,
                 "must register a ledger of this registry with size, root and state");
}

absl::Status EvidenceCheck::LedgerCheckpoint(std::string_view text) {
  absl::StatusOr<SignedCheckpoint> read = ParseSigned(text);
  if (!read.ok()) {
    return Differs(kCheckpointClass, kCheckpointMember, FromAbsl(read.status().message()));
  }
  const auto signers = Signers(kCheckpointMember, read->note, log_keys_);
  if (!signers.ok()) return signers.status();
  checkpoint_ = std::move(read->checkpoint);
  Checkpoint registered{registered_.origin(), registered_.size(), {}, {}};
  std::copy_n(registered_.root_hash().begin(), registered.root.size(), registered.root.begin());
  if (checkpoint_.origin == registered.origin && checkpoint_.size == registered.size &&
      checkpoint_.root == registered.root) {
    return absl::OkStatus();
  }
  return Differs(kRegistryClass, kCheckpointMember,
                 absl::StrCat("as registry/entry registers it, ", Text(registered)),
                 Text(checkpoint_));
}

absl::Status EvidenceCheck::Older(const Note& note) const {
  constexpr char kWhere[] = "older checkpoint";
  const absl::StatusOr<Checkpoint> older =
      merkle::OpenCheckpoint(note, checkpoint_.origin, log_keys_);
  if (!older.ok()) return Differs(kOlderClass, kWhere, FromAbsl(older.status().message()));
  if (older->size <= checkpoint_.size) return absl::OkStatus();
  return Differs(kOlderClass, kWhere, absl::StrCat("of at most ", checkpoint_.size, " entries"),
                 absl::StrCat(older->size));
}

}  // namespace dpledger::bundle
