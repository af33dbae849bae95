#include "server/own_ledgers/note_log.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "events/proto_json.h"
#include "server/own_ledgers/own_ledgers.h"

namespace dpledger::server {
namespace {

constexpr char kWriter[] = "server";
constexpr int kMostTries = 16;  // each lost one is a note that another server has stored

}  // namespace

absl::Status CheckWaiting(const CallContext& call) {
  if (call.cancelled && call.cancelled()) return absl::CancelledError("the caller has gone");
  if (absl::Now() > call.deadline) return absl::DeadlineExceededError("the call's time is up");
  return absl::OkStatus();
}

absl::Status ReadNote(const std::string& ledger, uint64_t sequence, const std::string& bytes,
                      google::protobuf::Message& note) {
  v1::LedgerEntry entry;
  if (!entry.ParseFromString(bytes))
    return absl::DataLossError(absl::StrCat(ledger, ": entry ", sequence, " is no entry"));
  if (!entry.has_note()) return absl::OkStatus();
  const absl::Status read =
      events::MessageFromJson(entry.note().text(), "a note", note, events::Unknown::kPassedOver);
  if (read.ok()) return read;
  return absl::DataLossError(absl::StrCat(ledger, ": entry ", sequence, ": ", read.message()));
}

absl::StatusOr<uint64_t> NoteLog::Refresh(const CallContext& call) {
  const absl::StatusOr<v1::Ledger> found = store_.Get(ledger(), kNoWriters);
  if (absl::IsNotFound(found.status())) return 0;
  RETURN_IF_ERROR(found.status());
  const auto take_next = [&](const std::string& bytes) -> absl::Status {
    RETURN_IF_ERROR(CheckWaiting(call));
    RETURN_IF_ERROR(take_(read_, bytes));
    ++read_;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(store_.ForEachEntry(ledger(), read_, found->size(), take_next));
  return read_;
}

absl::Status NoteLog::Append(const CallContext& call, const char* field, const Make& make) {
  for (int i = 0; i < kMostTries; ++i) {
    ASSIGN_OR_RETURN(uint64_t size, Refresh(call));
    if (size == 0) {
      RETURN_IF_ERROR(store_.Create(first_).status());
      size = 1;
    }
    ASSIGN_OR_RETURN(const google::protobuf::Message* const note, make(size));
    const std::string json = events::MessageToJson(*note);
    if (json.size() > kMaxNoteBytes)
      return FieldError(field, "its texts are too long for a note together");
    ASSIGN_OR_RETURN(const bool stored, Store(json, size));
    if (stored) return absl::OkStatus();
  }
  return absl::AbortedError("other notes are stored at the same time; try again");
}

absl::StatusOr<bool> NoteLog::Store(const std::string& json, uint64_t size) {
  v1::AppendBatchRequest batch = NoteBatch(ledger(), kWriter, absl::StrCat("entry-", size), {json});
  batch.set_expected_sequence(size);
  const absl::Status stored = store_.Append(std::move(batch)).status();
  const std::string reason = ReasonOf(stored).reason;
  if (reason == "SEQUENCE_MISMATCH" || reason == "REQUEST_ID_REUSED") return false;
  RETURN_IF_ERROR(stored);
  return true;
}

}  // namespace dpledger::server
