#include "client/spool_import.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "client/internal/call.h"
#include "client/spool.h"
#include "connection/connection.h"
#include "events/names.h"

namespace dpledger::client {
namespace {

using Stub = v1::LedgerService::StubInterface;

constexpr absl::Duration kCallTimeout = absl::Seconds(30);
constexpr char kSpoolSuffix[] = ".spool";

// The refusals that mean: not in time.
bool IsLate(const absl::Status& status) {
  const std::string reason = ReasonOf(status).reason;
  return reason == "FENCED_OFF" || reason == "WRITER_CLOSED" || reason == "LEDGER_SEALED";
}

// The spool of "<project>~<ledger>~<writer>.spool".
absl::StatusOr<Spool::Options> OptionsOf(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string name = file.filename().string();
  const std::vector<std::string> parts = absl::StrSplit(absl::StripSuffix(name, kSpoolSuffix), '~');
  Spool::Options options;
  if (parts.size() == 3) {
    options.ledger = absl::StrCat("projects/", parts[0], "/ledgers/", parts[1]);
    options.writer = parts[2];
  }
  if (!name.ends_with(kSpoolSuffix) || !events::CheckLedgerName("", options.ledger).ok() ||
      !events::IsToken(options.writer)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "spool: ", path, ": must be named <project>~<ledger>~<writer>.spool, as recorders do"));
  }
  options.folder = file.parent_path().empty() ? "." : file.parent_path().string();
  return options;
}

absl::Status Send(const v1::AppendBatchRequest& batch, Stub& stub) {
  return internal::Call(stub, &Stub::AppendBatch, batch, absl::Now() + kCallTimeout).status();
}

// Its request id is made from the batch's, so that a repeated import is the same request.
v1::AppendBatchRequest LateBatch(const v1::AppendBatchRequest& batch, const std::string& id) {
  v1::AppendBatchRequest late;
  late.set_ledger(batch.ledger());
  late.set_writer(batch.writer());
  late.set_request_id(id);
  return late;
}

// The batch's events as late ones. Returns how many.
absl::StatusOr<uint64_t> SendLate(const v1::AppendBatchRequest& batch, Stub& stub) {
  v1::AppendBatchRequest late = LateBatch(batch, absl::StrCat("late-", batch.request_id()));
  for (const v1::NewEntry& entry : batch.entries()) {
    if (!entry.has_event()) continue;
    v1::NewEntry& added = *late.add_entries();
    if (entry.has_claimed_time()) *added.mutable_claimed_time() = entry.claimed_time();
    added.mutable_late_event()->set_incarnation(batch.incarnation());
    *added.mutable_late_event()->mutable_event() = entry.event();
  }
  if (late.entries_size() > 0) RETURN_IF_ERROR(Send(late, stub));
  return static_cast<uint64_t>(late.entries_size());
}

// That all of an incarnation's spool is there. Said again if the import was cut off after it: the
// batches that were tried again have made a new conflict.
absl::Status SendEnd(const v1::AppendBatchRequest& last, uint64_t events, Stub& stub) {
  v1::AppendBatchRequest end = LateBatch(last, connection::NewRequestId());
  v1::SpoolImported& imported = *end.add_entries()->mutable_spool_imported();
  imported.set_incarnation(last.incarnation());
  imported.set_events(events);
  return Send(end, stub);
}

// Whether the ledger misses the end of an incarnation.
absl::StatusOr<bool> IsMissed(const Spool::Options& options, const std::string& incarnation,
                              Stub& stub) {
  v1::GetLedgerRequest request;
  request.set_name(options.ledger);
  request.set_first_writer(options.writer);
  ASSIGN_OR_RETURN(const v1::Ledger ledger,
                   internal::Call(stub, &Stub::GetLedger, request, absl::Now() + kCallTimeout));
  for (const v1::WriterStatus& writer : ledger.writers()) {
    if (writer.writer() != options.writer) continue;
    return std::any_of(writer.missing_spools().begin(), writer.missing_spools().end(),
                       [&](const auto& missing) { return missing.incarnation() == incarnation; });
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SpoolFiles(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().string().ends_with(kSpoolSuffix)) files.push_back(entry.path().string());
  }
  if (error) return ErrnoError(error.value(), "read", folder);
  if (files.empty()) return absl::NotFoundError(absl::StrCat(folder, ": holds no spool"));
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<SpoolImport> ImportSpool(const std::string& path,
                                        v1::LedgerService::StubInterface& stub) {
  ASSIGN_OR_RETURN(const Spool::Options options, OptionsOf(path));
  if (!std::filesystem::exists(path)) {
    return absl::NotFoundError(absl::StrCat("spool: ", path, ": no such file"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Spool> spool, Spool::Open(options));
  SpoolImport import{path, options.ledger, options.writer};
  const Spool::State state = spool->state();
  // Of the incarnation whose batches are being read.
  v1::AppendBatchRequest last;
  last.set_ledger(options.ledger);
  last.set_writer(options.writer);
  last.set_incarnation(state.status.incarnation());
  uint64_t late = 0;
  bool refused = false;
  const auto end = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const bool missed, IsMissed(options, last.incarnation(), stub));
    if (refused || missed) RETURN_IF_ERROR(SendEnd(last, late, stub));
    import.late_events += std::exchange(late, 0);
    refused = false;
    return absl::OkStatus();
  };
  for (uint64_t position = state.acknowledged; position < state.end; ++position) {
    ASSIGN_OR_RETURN(v1::AppendBatchRequest batch, spool->Read(position));
    if (position > state.acknowledged && batch.incarnation() != last.incarnation()) {
      RETURN_IF_ERROR(end());
    }
    last = std::move(batch);
    const absl::Status sent = Send(last, stub);
    if (sent.ok()) {
      ++import.delivered_batches;
      continue;
    }
    if (!IsLate(sent)) return sent;
    refused = true;
    ASSIGN_OR_RETURN(const uint64_t events, SendLate(last, stub));
    late += events;
  }
  RETURN_IF_ERROR(end());
  RETURN_IF_ERROR(spool->Acknowledge(state.end));
  RETURN_IF_ERROR(spool->Sync());
  return import;
}

}  // namespace dpledger::client
