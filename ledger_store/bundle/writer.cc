#include "ledger_store/bundle/writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status.h"
#include "merkle/compact_tree.h"
#include "merkle/signed_note.h"

namespace dpledger::bundle {
namespace {

// What the file is, and how to check it without this program.
constexpr std::string_view kReadme =
    R"(This file is a ledger of differentially private work: every entry, and what proves that it is the
ledger that its server signed. Check it with

  dpledger ledger verify FILE --key KEY

where KEY is the server's public key, learned from somewhere else than this file, or by hand:

keys                  the keys that have signed for this server, oldest first (C2SP signed-note
                      verifier keys). Whoever made this file could have made them up: compare.
registry/checkpoint   the signed root of the server's registry, the log of all its ledgers
                      (C2SP tlog-checkpoint), with the cosignatures of its witnesses
registry/keys/N/...   the registry's entry with line N of keys, and the proof that the registry has
                      it (C2SP tlog-proof)
registry/entry        the registry's entry with this ledger's size, root and state
registry/proof        the proof that the registry has that entry
registry/map/...      the registry's last entry, with the root of the map of all ledgers' latest
                      sizes, its proof, and the path to this ledger in the map
registry/points       every size at which this ledger was registered: 49 bytes each
checkpoint            the signed root of this ledger
tile/entries/...      the entries, 256 in a file, each behind its length (16 bits, big-endian)
tile/N/...            the ledger's Merkle tree (RFC 6962, SHA-256; C2SP tlog-tiles)
events.jsonl          the entries as text, for reading. No signature covers it; `ledger verify` compares
                      it with the entries.
statement.json        what the server said the privacy loss was. `ledger verify` recomputes it.

The hash of an entry e is SHA-256(0x00 e), that of two subtrees l and r is SHA-256(0x01 l r). The
entries are dpledger.v1.LedgerEntry messages in protobuf's wire format. docs/formats.md of dpledger,
section "Bundles", describes every byte and every rule; c2sp.org describes the C2SP formats.
)";

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

  BundleWriter writer(sink, std::move(checkpoint));
  RETURN_IF_ERROR(writer.WriteMember(kReadmeMember, kReadme));
  for (const Evidence::Member& member : evidence.Members()) {
    RETURN_IF_ERROR(CheckSize(member.name, member.content->size(), member.max_bytes));
    RETURN_IF_ERROR(writer.WriteMember(member.name, *member.content));
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
