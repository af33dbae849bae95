#include "ledger_store/bundle/verifier.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status.h"
#include "ledger_store/bundle/difference.h"
#include "merkle/compact_tree.h"

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

Evidence::Member Verifier::Expected() const {
  switch (step_) {
    case Step::kReadme:
      return {kReadmeMember, kMaxTextBytes, nullptr};
    case Step::kEvidence:
      return *evidence_.Next();
    case Step::kTree:
      return {tree_member_->Path(),
              tree_member_->entries
                  ? kMaxEntriesBytes
                  : static_cast<uint64_t>(tree_member_->tile.width) * uint64_t{kHashBytes},
              nullptr};
    case Step::kEvents:
      return {kEventsMember, kMaxMemberBytes, nullptr};
    case Step::kStatement:
      return {kStatementMember, kMaxTextBytes, nullptr};
    case Step::kOver:
      break;
  }
  return {};
}

std::optional<std::string> Verifier::Next() const {
  if (step_ >= Step::kEvents) return {};
  return Expected().name;
}

void Verifier::Advance() {
  switch (step_) {
    case Step::kEvidence:
      if (evidence_.Next().has_value()) return;
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
  const Evidence::Member expected = Expected();
  if (expected.name == kMapEntryMember && name == kCheckpointMember) {
    return Differs(kMapClass, kMapEntryMember,
                   "is missing: nothing shows that this is the registry's latest head of the "
                   "ledger, and not an earlier or another one");
  }
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
    RETURN_IF_ERROR(evidence_.Take(std::move(content)));
  }
  Advance();
  return step_ == Step::kEvents ? CheckWhole() : absl::OkStatus();
}

absl::Status Verifier::End() const {
  const std::optional<std::string> next = Next();
  if (!next.has_value()) return absl::OkStatus();
  return NoBundle("end of the file", absl::StrCat(*next, " is missing"));
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
  if (!entries.ok()) return Differs(kTileClass, path, entries.status());
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
