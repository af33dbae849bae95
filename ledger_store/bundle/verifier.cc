#include "ledger_store/bundle/verifier.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "base/status.h"
#include "ledger_store/bundle/difference.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"

namespace dpledger::bundle {
namespace {

using merkle::kHashBytes;

std::string Hex(const merkle::Hash& hash) { return HexEncode(merkle::ToBytes(hash)); }

}  // namespace

Verifier::Verifier(VerifierOptions options)
    : options_(std::move(options)), evidence_(options_.trusted), rules_(&options_.entries) {
  for (const uint64_t size : options_.root_sizes) roots_[size] = merkle::EmptyRoot();
  for (const merkle::Note& note : options_.older) {
    const auto older = merkle::ParseCheckpoint(note.text);
    if (older.ok()) roots_[older->size] = merkle::EmptyRoot();
  }
}

Verifier::Member Verifier::Expected() const {
  switch (step_) {
    case Step::kReadme:
      return {kReadmeMember, kMaxTextBytes};
    case Step::kKeys:
      return {kKeysMember, kMaxTextBytes};
    case Step::kRegistryCheckpoint:
      return {kRegistryCheckpointMember, kMaxTextBytes};
    case Step::kKeyEntry:
      return {KeyEntryMember(key_), merkle::kMaxEntryBytes};
    case Step::kKeyProof:
      return {KeyProofMember(key_), kMaxProofBytes};
    case Step::kRegistered:
      return {kRegisteredMember, merkle::kMaxEntryBytes};
    case Step::kRegisteredProof:
      return {kRegisteredProofMember, kMaxProofBytes};
    case Step::kMapEntry:
      return {kMapEntryMember, merkle::kMaxEntryBytes};
    case Step::kMapProof:
      return {kMapProofMember, kMaxProofBytes};
    case Step::kMapPath:
      return {kMapPathMember, kMaxMapPathBytes};
    case Step::kPoints:
      return {kPointsMember, kMaxPointsBytes};
    case Step::kCheckpoint:
      return {kCheckpointMember, kMaxTextBytes};
    case Step::kTree:
      return {tree_member_->Path(),
              tree_member_->entries
                  ? kMaxEntriesBytes
                  : static_cast<uint64_t>(tree_member_->tile.width) * uint64_t{kHashBytes}};
    case Step::kEvents:
      return {kEventsMember, kMaxMemberBytes};
    case Step::kStatement:
      return {kStatementMember, kMaxTextBytes};
    case Step::kOver:
      break;
  }
  return {"", 0};
}

std::optional<std::string> Verifier::Next() const {
  if (step_ >= Step::kEvents) return {};
  return Expected().name;
}

void Verifier::Advance() {
  switch (step_) {
    case Step::kKeyProof:
      step_ = ++key_ < evidence_.key_count() ? Step::kKeyEntry : Step::kRegistered;
      return;
    case Step::kCheckpoint:
      tree_members_.emplace(evidence_.checkpoint().size);
      tree_member_ = tree_members_->Next();
      step_ = Step::kTree;
      return;
    case Step::kTree:
      tree_member_ = tree_members_->Next();
      if (!tree_member_.has_value()) step_ = Step::kEvents;
      return;
    default:
      step_ = static_cast<Step>(static_cast<int>(step_) + 1);
  }
}

absl::StatusOr<bool> Verifier::Begin(const std::string& name, uint64_t size) {
  if (step_ == Step::kEvents && name == kStatementMember) step_ = Step::kStatement;
  if (step_ == Step::kMapEntry && name == kCheckpointMember) {
    return Differs(kMapClass, kMapEntryMember,
                   "is missing: nothing shows that this is the registry's latest head of the "
                   "ledger, and not an earlier or another one");
  }
  const Member expected = Expected();
  if (name != expected.name) {
    return NoBundle(Quoted(name), expected.name.empty()
                                      ? "nothing may stand here any more"
                                      : absl::StrCat("here must stand ", expected.name));
  }
  if (size > expected.max_bytes) {
    return NoBundle(name,
                    absl::StrCat("must be at most ", expected.max_bytes, " bytes, found ", size));
  }
  if (step_ != Step::kReadme && step_ != Step::kEvents) return true;
  Advance();
  return false;
}

absl::Status Verifier::Content(std::string content) {
  if (step_ == Step::kStatement) {
    statement_ = std::move(content);
  } else if (step_ == Step::kTree) {
    RETURN_IF_ERROR(AddTreeMember(std::move(content)));
  } else {
    RETURN_IF_ERROR(AddEvidence(std::move(content)));
  }
  Advance();
  return step_ == Step::kEvents ? CheckWhole() : absl::OkStatus();
}

absl::Status Verifier::End() const {
  const std::optional<std::string> next = Next();
  if (!next.has_value()) return absl::OkStatus();
  return NoBundle("end of the file", absl::StrCat(*next, " is missing"));
}

absl::Status Verifier::AddEvidence(std::string content) {
  switch (step_) {
    case Step::kKeys:
      return evidence_.Keys(content);
    case Step::kRegistryCheckpoint:
      return evidence_.RegistryCheckpoint(content);
    case Step::kKeyEntry:
      return evidence_.KeyEntry(std::move(content));
    case Step::kKeyProof:
      return evidence_.KeyProof(content);
    case Step::kRegistered:
      return evidence_.Registered(std::move(content));
    case Step::kRegisteredProof:
      return evidence_.RegisteredProof(content);
    case Step::kMapEntry:
      return evidence_.MapEntry(std::move(content));
    case Step::kMapProof:
      return evidence_.MapProof(content);
    case Step::kMapPath:
      return evidence_.MapPath(content);
    case Step::kPoints:
      return evidence_.Points(content);
    default:
      return evidence_.LedgerCheckpoint(content);
  }
}

absl::Status Verifier::AddTreeMember(std::string content) {
  const std::string path = tree_member_->Path();
  if (tree_member_->entries) return AddEntries(path, std::move(content));
  RETURN_IF_ERROR(CheckTile(path, content));
  if (tree_member_->tile.id.level > 0) return absl::OkStatus();
  // What the entries say is looked at once their hashes are those of the tile.
  for (const std::string_view entry : entries_) RETURN_IF_ERROR(rules_.Add(entry));
  return absl::OkStatus();
}

absl::Status Verifier::AddEntries(const std::string& path, std::string content) {
  bundle_ = std::move(content);
  absl::StatusOr<std::vector<std::string_view>> entries =
      merkle::DecodeEntryBundle(bundle_, tree_member_->tile.width);
  if (!entries.ok()) return Differs(kTileClass, path, FromAbsl(entries.status().message()));
  entries_ = *std::move(entries);
  size_t bytes = 0;
  for (const std::string_view entry : entries_) {
    bytes += 2 + entry.size();
    tree_.Append(merkle::LeafHash(entry));
    const auto root = roots_.find(tree_.size());
    if (root != roots_.end()) root->second = tree_.Root();
    RETURN_IF_ERROR(CheckPoint());
  }
  if (bytes != bundle_.size()) {
    return Differs(
        kTileClass, path,
        absl::StrCat(tree_member_->tile.width, " entries of ", bytes, " bytes with their lengths"),
        absl::StrCat(bundle_.size(), " bytes"));
  }
  for (auto& [id, hashes] : tree_.TakeChanged()) computed_[id] = std::move(hashes);
  return absl::OkStatus();
}

absl::Status Verifier::CheckPoint() {
  const std::vector<registry::Point>& points = evidence_.points();
  if (next_point_ == points.size() || points[next_point_].size != tree_.size())
    return absl::OkStatus();
  const registry::Point& point = points[next_point_++];
  // The last one is the checkpoint's, whose root is compared at the end.
  if (next_point_ == points.size() || point.root == tree_.Root()) return absl::OkStatus();
  return Differs(kMapClass,
                 absl::StrCat(kPointsMember, ", point ", next_point_ - 1, " (entry ", point.index,
                              " of the registry)"),
                 absl::StrCat(Hex(tree_.Root()), " as the first ", point.size, " entries say"),
                 absl::StrCat(Hex(point.root), ": the ledger was registered with another past"));
}

absl::Status Verifier::CheckTile(const std::string& path, std::string_view content) {
  const auto found = computed_.find(tree_member_->tile.id);
  const std::string computed = std::move(found->second);
  computed_.erase(found);
  if (content == computed) return absl::OkStatus();
  if (content.size() != computed.size()) {
    return Differs(kTileClass, path, absl::StrCat(computed.size(), " bytes"),
                   absl::StrCat(content.size()));
  }
  size_t i = 0;
  while (content.substr(i, kHashBytes) == std::string_view(computed).substr(i, kHashBytes)) {
    i += kHashBytes;
  }
  std::string where = absl::StrCat(path, ", hash ", i / kHashBytes);
  if (tree_member_->tile.id.level == 0) {
    absl::StrAppend(&where, " (entry ",
                    tree_member_->tile.id.index * merkle::kTileWidth + i / kHashBytes, ")");
  }
  return Differs(kTileClass, where,
                 absl::StrCat(HexEncode(std::string_view(computed).substr(i, kHashBytes)),
                              " as the entries say"),
                 HexEncode(content.substr(i, kHashBytes)));
}

absl::Status Verifier::CheckWhole() {
  const merkle::Checkpoint& checkpoint = evidence_.checkpoint();
  if (tree_.Root() != checkpoint.root) {
    return Differs(kRootClass, absl::StrCat("root of ", checkpoint.size, " entries"),
                   absl::StrCat(Hex(checkpoint.root), " as the checkpoint says"),
                   Hex(tree_.Root()));
  }
  if (rules_.sealed() != (evidence_.state() == v1::SEALED)) {
    return Differs(kSealClass, "last entry",
                   rules_.sealed() ? "no SEAL, as registry/entry says OPEN"
                                   : "SEAL, as registry/entry says SEALED",
                   rules_.sealed() ? "SEAL" : "none");
  }
  for (const merkle::Note& note : options_.older) {
    RETURN_IF_ERROR(evidence_.Older(note));
    ASSIGN_OR_RETURN(const merkle::Checkpoint older, merkle::ParseCheckpoint(note.text));
    const merkle::Hash& root = roots_.at(older.size);
    if (root == older.root) continue;
    return Differs(kOlderClass, absl::StrCat("root of the first ", older.size, " entries"),
                   absl::StrCat(Hex(older.root), " as the older checkpoint says"), Hex(root));
  }
  return absl::OkStatus();
}

std::optional<merkle::Hash> Verifier::RootAt(uint64_t size) const {
  const auto found = roots_.find(size);
  if (found == roots_.end() || size > tree_.size()) return {};
  return found->second;
}

absl::Status VerifyBundle(ByteSource& source, Verifier& verifier) {
  UstarReader reader(&source);
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<UstarMember> member, reader.Next());
    if (!member.has_value()) return verifier.End();
    ASSIGN_OR_RETURN(const bool wanted, verifier.Begin(member->name, member->size));
    if (!wanted) continue;
    ASSIGN_OR_RETURN(std::string content, reader.Content());
    RETURN_IF_ERROR(verifier.Content(std::move(content)));
  }
}

}  // namespace dpledger::bundle
