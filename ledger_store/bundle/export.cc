#include "ledger_store/bundle/export.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/entry_json.h"
#include "ledger_store/bundle/writer.h"

namespace dpledger::bundle {
namespace {

// Copies the entries, and their text into `lines`.
absl::Status CopyEntries(const std::string& ledger, ServedLedgers& server, BundleWriter& writer,
                         ScratchFile& lines, const ExportHooks& hooks) {
  const uint64_t size = writer.checkpoint().size;
  EntryStream entries(ledger, &server, EntryStream::Purpose::kExport);
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

absl::StatusOr<merkle::Checkpoint> ExportLedger(const std::string& ledger, ServedLedgers& server,
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
