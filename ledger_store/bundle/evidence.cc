#include "ledger_store/bundle/evidence.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "base/status.h"
#include "ledger_store/bundle/difference.h"
#include "ledger_store/bundle/members.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/text_lines.h"
#include "merkle/tlog_proof.h"
#include "registry/registry_log.h"

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
  ASSIGN_OR_RETURN(Note note, Note::Parse(text));
  ASSIGN_OR_RETURN(Checkpoint checkpoint, merkle::ParseCheckpoint(note.text));
  return SignedCheckpoint{std::move(note), std::move(checkpoint)};
}

std::string NameOf(std::string_view name, uint32_t key_id) {
  return absl::StrCat(ToAbsl(name), "+", absl::Hex(key_id, absl::kZeroPad8));
}

std::string NamesOfSignatures(const Note& note) {
  std::string names;
  for (const merkle::NoteSignature& signature : note.signatures) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", NameOf(signature.name, signature.key_id));
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
  if (!verified.ok()) return Differs(kSignatureClass, where, verified.status());
  std::vector<VerifierKey> signers;
  for (const merkle::VerifiedSignature& signature : *verified) {
    signers.push_back(keys[signature.key]);
  }
  return signers;
}

std::string Text(const Checkpoint& checkpoint) {
  return absl::StrCat(Quoted(checkpoint.origin), " of size ", checkpoint.size, " and root ",
                      HexEncode(merkle::ToBytes(checkpoint.root)));
}

}  // namespace

struct EvidenceCheck::Step {
  const char* name;  // $0: the number of the key
  uint64_t max_bytes;
  std::string Evidence::*content;  // null: of each key
  absl::Status (EvidenceCheck::*check)(std::string);
};

const std::vector<EvidenceCheck::Step>& EvidenceCheck::Steps() {
  using Check = EvidenceCheck;
  static const auto& steps = *new std::vector<Step>{
      {kKeysMember, kMaxTextBytes, &Evidence::keys, &Check::Keys},
      {kRegistryCheckpointMember, kMaxTextBytes, &Evidence::registry_checkpoint,
       &Check::RegistryCheckpoint},
      {kKeyEntryMember, merkle::kMaxEntryBytes, nullptr, &Check::Entry},
      {kKeyProofMember, kMaxProofBytes, nullptr, &Check::KeyProof},
      {kRegisteredMember, merkle::kMaxEntryBytes, &Evidence::registered, &Check::Entry},
      {kRegisteredProofMember, kMaxProofBytes, &Evidence::registered_proof,
       &Check::RegisteredProof},
      {kMapEntryMember, merkle::kMaxEntryBytes, &Evidence::map_entry, &Check::Entry},
      {kMapProofMember, kMaxProofBytes, &Evidence::map_proof, &Check::MapProof},
      {kMapPathMember, kMaxMapPathBytes, &Evidence::map_path, &Check::MapPath},
      {kPointsMember, kMaxPointsBytes, &Evidence::points, &Check::Points},
      {kCheckpointMember, kMaxTextBytes, &Evidence::checkpoint, &Check::LedgerCheckpoint}};
  return steps;
}

std::vector<Evidence::Member> Evidence::Members() const {
  std::vector<Member> members;
  for (const EvidenceCheck::Step& step : EvidenceCheck::Steps()) {
    const std::string_view name = step.name;
    const bool of_map = name.starts_with("registry/map/") || name == kPointsMember;
    if (of_map && map_entry.empty()) continue;
    if (step.content != nullptr)
      members.push_back({step.name, step.max_bytes, &(this->*step.content)});
    if (name != kKeyProofMember) continue;
    for (size_t i = 0; i < key_entries.size(); ++i) {
      members.push_back({KeyEntryMember(i), merkle::kMaxEntryBytes, &key_entries[i].entry});
      members.push_back({KeyProofMember(i), kMaxProofBytes, &key_entries[i].proof});
    }
  }
  return members;
}

std::optional<Evidence::Member> EvidenceCheck::Next() const {
  if (step_ == Steps().size()) return std::nullopt;
  const Step& step = Steps()[step_];
  return Evidence::Member{absl::Substitute(step.name, proven_keys_), step.max_bytes, nullptr};
}

absl::Status EvidenceCheck::Take(std::string content) {
  const Step& step = Steps()[step_];
  const absl::Status checked = (this->*step.check)(std::move(content));
  const bool more_keys = step.check == &EvidenceCheck::KeyProof && proven_keys_ < keys_.size();
  step_ = more_keys ? step_ - 1 : step_ + 1;
  return checked;
}

EvidenceCheck::EvidenceCheck(std::vector<VerifierKey> trusted) {
  for (VerifierKey& key : trusted) {
    (key.type == SignatureType::kEd25519 ? log_keys_ : witnesses_).push_back(std::move(key));
  }
  own_keys_ = log_keys_.empty();
}

absl::Status EvidenceCheck::Keys(std::string content) {
  std::string_view text = content;
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

absl::Status EvidenceCheck::RegistryCheckpoint(std::string text) {
  absl::StatusOr<SignedCheckpoint> read = ParseSigned(text);
  if (!read.ok()) {
    return Differs(kRegistryClass, kRegistryCheckpointMember, read.status());
  }
  absl::StatusOr<std::vector<VerifierKey>> signers =
      Signers(kRegistryCheckpointMember, read->note, log_keys_);
  if (!signers.ok()) return signers.status();
  for (const VerifierKey& witness : witnesses_) {
    const auto cosigned = merkle::VerifyNote(read->note, {&witness, 1});
    if (absl::IsPermissionDenied(cosigned.status())) {
      return Differs(kSignatureClass, kRegistryCheckpointMember,
                     absl::StrCat("cosigned by the witness ", NameOf(witness.name, witness.Id())),
                     absl::StrCat("signatures of ", NamesOfSignatures(read->note), " only"));
    }
    if (!cosigned.ok()) {
      return Differs(kSignatureClass, kRegistryCheckpointMember, cosigned.status());
    }
    cosigners_.push_back({witness, cosigned->front().unix_seconds.value_or(0)});
  }
  for (const merkle::NoteSignature& signature : read->note.signatures) {
    const auto is_of = [&](const VerifierKey& key) {
      return key.name == signature.name && key.Id() == signature.key_id;
    };
    if (std::none_of(log_keys_.begin(), log_keys_.end(), is_of) &&
        std::none_of(witnesses_.begin(), witnesses_.end(), is_of)) {
      unknown_signatures_.push_back(NameOf(signature.name, signature.key_id));
    }
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
  registry_note_ = std::move(text);
  return absl::OkStatus();
}

// The registry's entry whose proof this is: the one before it.
absl::StatusOr<v1::LedgerEntry> EvidenceCheck::Included(std::string_view difference_class,
                                                        const std::string& where,
                                                        std::string_view proof) const {
  const absl::StatusOr<merkle::TlogProof> read = merkle::ParseTlogProof(proof);
  if (!read.ok()) return Differs(difference_class, where, read.status());
  if (read->checkpoint.ToText() != registry_note_) {
    return Differs(difference_class, where, "its checkpoint must be registry/checkpoint");
  }
  const absl::Status included = merkle::VerifyInclusion(
      merkle::LeafHash(entry_), read->index, registry_.size, registry_.root, read->hashes);
  if (!included.ok()) return Differs(difference_class, where, included);
  absl::StatusOr<v1::LedgerEntry> one = registry::ParseRegistryEntry(entry_);
  if (!one.ok()) {
    return Differs(difference_class, where, absl::StrCat("the entry ", one.status().message()));
  }
  if (one->sequence() != read->index) {
    return Differs(difference_class, where,
                   absl::StrCat("the entry must be entry ", read->index, " of the registry"));
  }
  return one;
}

absl::Status EvidenceCheck::Entry(std::string entry) {
  entry_ = std::move(entry);
  return absl::OkStatus();
}

absl::Status EvidenceCheck::KeyProof(std::string text) {
  const size_t i = proven_keys_;
  const std::string where = KeyProofMember(i);
  ASSIGN_OR_RETURN(v1::LedgerEntry entry, Included(kKeysClass, where, text));
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

absl::Status EvidenceCheck::RegisteredProof(std::string text) {
  ASSIGN_OR_RETURN(v1::LedgerEntry entry, Included(kRegistryClass, kRegisteredProofMember, text));
  const absl::StatusOr<registry::Point> point = registry::PointOf(entry, registry_.origin);
  if (!point.ok()) return Differs(kRegistryClass, kRegisteredMember, point.status());
  registered_point_ = *point;
  registered_seconds_ = entry.recorded_time().seconds();
  registered_ = std::move(*entry.mutable_registered());
  return absl::OkStatus();
}

absl::Status EvidenceCheck::MapProof(std::string text) {
  ASSIGN_OR_RETURN(v1::LedgerEntry entry, Included(kMapClass, kMapProofMember, text));
  const std::optional<merkle::Hash> root = merkle::HashFrom(entry.map_root().root_hash());
  if (!root.has_value()) {
    return Differs(kMapClass, kMapEntryMember, "must have the root of a map");
  }
  if (entry.sequence() != registry_.size - 1) {
    return Differs(kMapClass, kMapEntryMember,
                   absl::StrCat("entry ", registry_.size - 1, ", the registry's last"),
                   absl::StrCat("entry ", entry.sequence()));
  }
  map_root_ = *root;
  return absl::OkStatus();
}

absl::Status EvidenceCheck::MapPath(std::string bytes) {
  absl::StatusOr<merkle::MapPath> path = merkle::MapPath::Parse(bytes);
  if (!path.ok()) return Differs(kMapClass, kMapPathMember, path.status());
  map_path_ = *std::move(path);
  return absl::OkStatus();
}

absl::Status EvidenceCheck::Points(std::string bytes) {
  absl::StatusOr<std::vector<registry::Point>> points = registry::ParsePoints(bytes);
  if (!points.ok()) return Differs(kMapClass, kPointsMember, points.status());
  registry::Head head;
  for (const registry::Point& point : *points) {
    absl::StatusOr<registry::Head> next = head.After(point);
    if (!next.ok()) {
      return Differs(kMapClass, absl::StrCat(kPointsMember, ", point ", head.points),
                     next.status());
    }
    head = *std::move(next);
  }
  if (head.last != registered_point_) {
    return Differs(kMapClass, absl::StrCat(kPointsMember, ", last point"),
                   absl::StrCat("the registration of registry/entry, entry ",
                                registered_point_.index, " at size ", registered_point_.size),
                   absl::StrCat("entry ", head.last.index, " at size ", head.last.size));
  }
  const std::string& origin = registered_.origin();
  if (map_path_.RootFrom(registry::HeadKey(origin), registry::HeadLeaf(origin, head)) !=
      map_root_) {
    return Differs(
        kMapClass, kPointsMember,
        absl::StrCat("the registrations that the registry's map has of ", Quoted(origin), " at ",
                     registry_.size, " entries; the registry knows a later head, or another past"),
        absl::StrCat(head.points, " other registrations"));
  }
  points_ = *std::move(points);
  return absl::OkStatus();
}

absl::Status EvidenceCheck::LedgerCheckpoint(std::string text) {
  absl::StatusOr<SignedCheckpoint> read = ParseSigned(text);
  if (!read.ok()) {
    return Differs(kCheckpointClass, kCheckpointMember, read.status());
  }
  const auto signers = Signers(kCheckpointMember, read->note, log_keys_);
  if (!signers.ok()) return signers.status();
  checkpoint_ = std::move(read->checkpoint);
  checkpoint_note_ = std::move(read->note);
  const Checkpoint registered{
      registered_.origin(), registered_point_.size, registered_point_.root, {}};
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
  if (!older.ok()) return Differs(kOlderClass, kWhere, older.status());
  if (older->size <= checkpoint_.size) return absl::OkStatus();
  return Differs(kOlderClass, kWhere, absl::StrCat("of at most ", checkpoint_.size, " entries"),
                 absl::StrCat(older->size));
}

}  // namespace dpledger::bundle
