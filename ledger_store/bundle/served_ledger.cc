#include "ledger_store/bundle/served_ledger.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "dpledger/v1/audit_service.pb.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "events/entry_json.h"
#include "ledger_store/bundle/difference.h"
#include "ledger_store/bundle/members.h"
#include "ledger_store/bundle/writer.h"
#include "merkle/checkpoint.h"
#include "merkle/tlog_proof.h"
#include "registry/head.h"

namespace dpledger::bundle {
namespace {

constexpr char kRegistry[] = "";  // as a log of the audit service

absl::Status Misshapen(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the server's answer: ", what));
}

template <typename Answer>
absl::StatusOr<Answer> Ask(ServedLedgers server, const google::protobuf::Message& request) {
  Answer answer;
  RETURN_IF_ERROR(server(request, answer));
  return answer;
}

template <typename Hashes>
absl::StatusOr<std::string> ProofText(uint64_t index, const Hashes& hashes,
                                      const merkle::Note& checkpoint) {
  merkle::TlogProof proof;
  proof.index = index;
  proof.checkpoint = checkpoint;
  for (const std::string& hash : hashes) {
    const std::optional<merkle::Hash> read = merkle::HashFrom(hash);
    if (!read.has_value()) return Misshapen("a proof has a hash of another size");
    proof.hashes.push_back(*read);
  }
  return merkle::TlogProofText(proof);
}

// Another ledger of the registry may be as well signed, and cost less.
absl::Status CheckOrigin(const std::string& ledger, const std::string& registry_origin,
                         const std::string& checkpoint) {
  const absl::StatusOr<merkle::Checkpoint> own = merkle::ReadCheckpoint(checkpoint);
  const std::string asked = absl::StrCat(registry_origin, "/", ledger);
  if (!own.ok() || own->origin == asked)
    return absl::OkStatus();  // a malformed checkpoint is reported later
  return Differs(kCheckpointClass, kCheckpointMember,
                 absl::StrCat("that of ", Quoted(asked), ", which was asked for"),
                 Quoted(own->origin));
}

// Walks through the registry until all keys are found. Each key stands after the one before.
absl::Status ReadKeyEntries(const std::vector<std::string>& keys, const merkle::Note& note,
                            uint64_t registry_size, ServedLedgers server, Evidence& evidence) {
  for (uint64_t first = 0; first < registry_size && evidence.key_entries.size() < keys.size();
       first += merkle::kTileWidth) {
    const uint64_t index = first / merkle::kTileWidth;
    const int width = merkle::TileWidthIn(registry_size, {0, index});
    v1::GetTileRequest request;
    request.set_log(kRegistry);
    request.set_path(merkle::EntriesPath(index, width));
    ASSIGN_OR_RETURN(const auto tile, Ask<v1::GetTileResponse>(server, request));
    ASSIGN_OR_RETURN(const std::vector<std::string_view> entries,
                     merkle::DecodeEntryBundle(tile.content(), width));
    for (size_t i = 0; i < entries.size() && evidence.key_entries.size() < keys.size(); ++i) {
      v1::LedgerEntry entry;
      if (!entry.ParseFromArray(entries[i].data(), static_cast<int>(entries[i].size())) ||
          entry.key_rotate().verifier_key() != keys[evidence.key_entries.size()]) {
        continue;
      }
      v1::GetInclusionProofRequest prove;
      prove.set_log(kRegistry);
      prove.set_index(first + i);
      prove.set_size(registry_size);
      ASSIGN_OR_RETURN(const auto proof, Ask<v1::GetInclusionProofResponse>(server, prove));
      ASSIGN_OR_RETURN(std::string text, ProofText(first + i, proof.proof(), note));
      evidence.key_entries.push_back({std::string(entries[i]), std::move(text)});
    }
  }
  if (evidence.key_entries.size() == keys.size()) return absl::OkStatus();
  return Misshapen(
      absl::StrCat("no entry of the registry names ", keys[evidence.key_entries.size()]));
}

absl::StatusOr<std::string> ReadPoints(const std::string& ledger, uint64_t registry_size,
                                       ServedLedgers server) {
  std::string points;
  v1::ListRegistrationsRequest request;
  request.set_log(ledger);
  request.set_registry_size(registry_size);
  while (true) {
    ASSIGN_OR_RETURN(const auto page, Ask<v1::ListRegistrationsResponse>(server, request));
    points += page.points();
    request.set_first(points.size() / registry::kPointBytes);
    if (page.points().empty() || request.first() >= page.total() || points.size() > kMaxPointsBytes)
      return points;
  }
}

// Copies the entries, and their text into `lines`.
absl::Status CopyEntries(const std::string& ledger, ServedLedgers server, BundleWriter& writer,
                         ScratchFile& lines, const ExportHooks& hooks) {
  const uint64_t size = writer.checkpoint().size;
  EntryStream entries(ledger, server, EntryStream::Purpose::kExport);
  while (writer.missing() > 0) {
    ASSIGN_OR_RETURN(std::string entry, entries.Next());
    // What cannot be shown is taken home all the same: it is what was signed.
    const absl::StatusOr<std::string> line = events::EntryToLine(entry);
    RETURN_IF_ERROR(lines.Write(line.ok() ? absl::StrCat(*line, "\n") : "{}\n"));
    RETURN_IF_ERROR(writer.Add(std::move(entry)));
    if (hooks.progress) hooks.progress(size - writer.missing(), size);
  }
  return writer.FinishTree();
}

}  // namespace

absl::StatusOr<Evidence> ReadEvidence(const std::string& ledger, ServedLedgers server) {
  v1::GetLedgerRequest present;
  present.set_name(ledger);
  ASSIGN_OR_RETURN(const auto head, Ask<v1::Ledger>(server, present));
  v1::GetCheckpointRequest request;
  request.set_log(ledger);
  request.set_at_least(head.size());
  ASSIGN_OR_RETURN(const auto answer, Ask<v1::GetCheckpointResponse>(server, request));

  Evidence evidence;
  evidence.checkpoint = answer.note();
  evidence.registry_checkpoint = answer.registry().note();
  evidence.registered = answer.registry().entry();
  ASSIGN_OR_RETURN(const merkle::Note note, merkle::Note::Parse(evidence.registry_checkpoint));
  ASSIGN_OR_RETURN(const merkle::Checkpoint registry, merkle::ParseCheckpoint(note.text));
  RETURN_IF_ERROR(CheckOrigin(ledger, registry.origin, evidence.checkpoint));
  ASSIGN_OR_RETURN(evidence.registered_proof,
                   ProofText(answer.registry().index(), answer.registry().proof(), note));
  if (!answer.registry().map_entry().empty()) {
    evidence.map_entry = answer.registry().map_entry();
    evidence.map_path = answer.registry().map_path();
    ASSIGN_OR_RETURN(evidence.map_proof,
                     ProofText(registry.size - 1, answer.registry().map_proof(), note));
    ASSIGN_OR_RETURN(evidence.points, ReadPoints(ledger, registry.size, server));
  }
  const std::vector<std::string> keys(answer.verifier_keys().begin(), answer.verifier_keys().end());
  if (keys.empty() || keys.size() > kMaxKeys) {
    return Misshapen(absl::StrCat("must have 1 to ", kMaxKeys, " keys, got ", keys.size()));
  }
  for (const std::string& key : keys) absl::StrAppend(&evidence.keys, key, "\n");
  RETURN_IF_ERROR(ReadKeyEntries(keys, note, registry.size, server, evidence));
  return evidence;
}

absl::StatusOr<std::string> EntryStream::Next() {
  while (page_.empty()) {
    if (at_end_) {
      return absl::OutOfRangeError(absl::StrCat(ledger_, ": has no entry ", next_));
    }
    v1::ReadEntriesRequest request;
    request.set_ledger(ledger_);
    request.set_first_sequence(next_);
    request.set_page_size(10'000);
    request.set_for_export(purpose_ == Purpose::kExport);
    ASSIGN_OR_RETURN(auto page, Ask<v1::ReadEntriesResponse>(server_, request));
    for (std::string& entry : *page.mutable_entries()) page_.push_back(std::move(entry));
    next_ += page_.size();
    at_end_ = page.next_sequence() == 0;
    if (page_.empty() && !at_end_) return Misshapen("a page of entries is empty");
  }
  std::string entry = std::move(page_.front());
  page_.pop_front();
  return entry;
}

absl::Status VerifyServed(const std::string& ledger, ServedLedgers server, Verifier& verifier,
                          const std::function<void(uint64_t, uint64_t)>& progress) {
  ASSIGN_OR_RETURN(const Evidence evidence, ReadEvidence(ledger, server));
  const auto give = [&verifier](const std::string& name, std::string content) -> absl::Status {
    ASSIGN_OR_RETURN(const bool wanted, verifier.Begin(name, content.size()));
    return wanted ? verifier.Content(std::move(content)) : absl::OkStatus();
  };
  RETURN_IF_ERROR(give(kReadmeMember, ""));
  for (const Evidence::Member& member : evidence.Members()) {
    RETURN_IF_ERROR(give(member.name, *member.content));
  }

  EntryStream stream(ledger, server, EntryStream::Purpose::kVerify);
  while (const std::optional<std::string> path = verifier.Next()) {
    ASSIGN_OR_RETURN(const merkle::ParsedTilePath tile, merkle::ParseTilePath(*path));
    std::string content;
    if (tile.entries) {
      std::vector<std::string> entries(static_cast<size_t>(tile.tile.width));
      for (std::string& entry : entries) {
        ASSIGN_OR_RETURN(entry, stream.Next());
      }
      ASSIGN_OR_RETURN(content, merkle::EncodeEntryBundle(entries));
      if (progress) progress(verifier.rules().size(), verifier.evidence().checkpoint().size);
    } else {
      v1::GetTileRequest request;
      request.set_log(ledger);
      request.set_path(*path);
      ASSIGN_OR_RETURN(auto answer, Ask<v1::GetTileResponse>(server, request));
      content = std::move(*answer.mutable_content());
    }
    RETURN_IF_ERROR(give(*path, std::move(content)));
  }
  return verifier.End();
}

absl::StatusOr<merkle::Checkpoint> ExportLedger(const std::string& ledger, ServedLedgers server,
                                                NewFile& file, const ExportHooks& hooks) {
  ASSIGN_OR_RETURN(const Evidence evidence, ReadEvidence(ledger, server));
  ASSIGN_OR_RETURN(ScratchFile lines, ScratchFile::Make(file.path()));
  ASSIGN_OR_RETURN(BundleWriter writer, BundleWriter::Begin(&file, evidence));
  RETURN_IF_ERROR(CopyEntries(ledger, server, writer, lines, hooks));
  if (lines.size() <= kMaxMemberBytes) RETURN_IF_ERROR(writer.AddEvents(lines, lines.size()));
  if (hooks.statement) {
    ASSIGN_OR_RETURN(const std::string statement, hooks.statement(writer.checkpoint().size));
    RETURN_IF_ERROR(writer.AddStatement(statement));
  }
  RETURN_IF_ERROR(writer.Finish());
  RETURN_IF_ERROR(file.Commit());
  return writer.checkpoint();
}

}  // namespace dpledger::bundle
