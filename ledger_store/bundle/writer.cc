#include "ledger_store/bundle/writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "base/status.h"
#include "ledger_store/bundle/readme.h"
#include "merkle/compact_tree.h"
#include "merkle/signed_note.h"

namespace dpledger::bundle {
namespace {

absl::Status CheckSize(std::string_view member, size_t size, uint64_t max_bytes) {
  if (size <= max_bytes) return absl::OkStatus();
  return FieldError(member, absl::StrCat("must be at most ", max_bytes, " bytes, got ", size));
}

}  // namespace

absl::Status BundleWriter::WriteMember(std::string_view name, std::string_view content) {
  const auto header = UstarHeader(name, content.size());
  RETURN_IF_ERROR(sink_->Write({header.data(), header.size()}));
  RETURN_IF_ERROR(sink_->Write(content));
  return sink_->Write(std::string(PaddingOf(content.size()), '\0'));
}

absl::StatusOr<BundleWriter> BundleWriter::Begin(ByteSink* sink, const Evidence& evidence) {
  ASSIGN_OR_RETURN(const merkle::Note note, merkle::Note::Parse(evidence.checkpoint));
  ASSIGN_OR_RETURN(merkle::Checkpoint checkpoint, merkle::ParseCheckpoint(note.text));
  if (checkpoint.size == 0) return FieldError("checkpoint", "must be of at least one entry");

  std::vector<std::pair<std::string, const std::string*>> texts = {
      {kKeysMember, &evidence.keys}, {kRegistryCheckpointMember, &evidence.registry_checkpoint}};
  for (size_t i = 0; i < evidence.key_entries.size(); ++i) {
    texts.emplace_back(KeyEntryMember(i), &evidence.key_entries[i].entry);
    texts.emplace_back(KeyProofMember(i), &evidence.key_entries[i].proof);
  }
  texts.emplace_back(kRegisteredMember, &evidence.registered);
  texts.emplace_back(kRegisteredProofMember, &evidence.registered_proof);
  if (evidence.has_map()) {
    texts.emplace_back(kMapEntryMember, &evidence.map_entry);
    texts.emplace_back(kMapProofMember, &evidence.map_proof);
    texts.emplace_back(kMapPathMember, &evidence.map_path);
    texts.emplace_back(kPointsMember, &evidence.points);
  }
  texts.emplace_back(kCheckpointMember, &evidence.checkpoint);

  BundleWriter writer(sink, std::move(checkpoint));
  RETURN_IF_ERROR(writer.WriteMember(kReadmeMember, kReadme));
  for (const auto& [name, content] : texts) {
    const uint64_t max_bytes = name.ends_with("/entry")   ? merkle::kMaxEntryBytes
                               : name.ends_with("/proof") ? kMaxProofBytes
                               : name == kPointsMember    ? kMaxPointsBytes
                                                          : kMaxTextBytes;
    RETURN_IF_ERROR(CheckSize(name, content->size(), max_bytes));
    RETURN_IF_ERROR(writer.WriteMember(name, *content));
  }
  return writer;
}

absl::Status BundleWriter::Add(std::string entry) {
  if (missing() == 0) {
    return FieldError("entries", absl::StrCat("must be ", checkpoint_.size, ", got one more"));
  }
  RETURN_IF_ERROR(CheckSize("entry", entry.size(), merkle::kMaxEntryBytes));
  tree_.Append(merkle::LeafHash(entry));
  entries_.push_back(std::move(entry));
  if (entries_.size() == merkle::kTileWidth) return WriteEntries();
  return absl::OkStatus();
}

absl::Status BundleWriter::WriteEntries() {
  for (auto& [id, hashes] : tree_.TakeChanged()) tiles_[id] = std::move(hashes);
  ASSIGN_OR_RETURN(const std::string bundle, merkle::EncodeEntryBundle(entries_));
  RETURN_IF_ERROR(WriteMember(members_.Next()->Path(), bundle));
  entries_.clear();
  // The tile of these entries, and each that it is the last to fill.
  for (bool fills = true; fills;) {
    const TreeMember member = *members_.Next();
    RETURN_IF_ERROR(WriteTile(member.tile, member.Path()));
    fills = member.tile.width == merkle::kTileWidth &&
            member.tile.id.index % merkle::kTileWidth == merkle::kTileWidth - 1;
  }
  return absl::OkStatus();
}

absl::Status BundleWriter::WriteTile(const merkle::SizedTile& tile, const std::string& path) {
  const auto found = tiles_.find(tile.id);
  const absl::Status written = WriteMember(path, found->second);
  tiles_.erase(found);
  return written;
}

absl::Status BundleWriter::FinishTree() {
  if (missing() > 0) {
    return absl::DataLossError(absl::StrCat("entries: must be ", checkpoint_.size,
                                            " as the checkpoint says, got ", tree_.size()));
  }
  if (tree_.Root() != checkpoint_.root) {
    return absl::DataLossError(
        absl::StrCat("entries: their root must be ", HexEncode(merkle::ToBytes(checkpoint_.root)),
                     " as the checkpoint says, found ", HexEncode(merkle::ToBytes(tree_.Root()))));
  }
  if (!entries_.empty()) RETURN_IF_ERROR(WriteEntries());
  while (const std::optional<TreeMember> edge = members_.Next()) {
    RETURN_IF_ERROR(WriteTile(edge->tile, edge->Path()));
  }
  return absl::OkStatus();
}

absl::Status BundleWriter::AddEvents(ByteSource& events, uint64_t size) {
  const auto header = UstarHeader(kEventsMember, size);
  RETURN_IF_ERROR(sink_->Write({header.data(), header.size()}));
  std::string buffer(size_t{1} << 20, '\0');
  for (uint64_t left = size; left > 0;) {
    ASSIGN_OR_RETURN(const size_t n,
                     events.Read(buffer.data(), std::min<uint64_t>(buffer.size(), left)));
    if (n == 0) return absl::DataLossError("events.jsonl: ends before its size");
    RETURN_IF_ERROR(sink_->Write(std::string_view(buffer).substr(0, n)));
    left -= n;
  }
  return sink_->Write(std::string(PaddingOf(size), '\0'));
}

absl::Status BundleWriter::AddStatement(std::string_view json) {
  RETURN_IF_ERROR(CheckSize(kStatementMember, json.size(), kMaxTextBytes));
  return WriteMember(kStatementMember, json);
}

absl::Status BundleWriter::Finish() { return sink_->Write(std::string(2 * kBlockBytes, '\0')); }

}  // namespace dpledger::bundle
