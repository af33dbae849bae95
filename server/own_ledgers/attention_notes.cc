#include "server/own_ledgers/attention_notes.h"

#include "base/status.h"
#include "server/own_ledgers/own_ledgers.h"

namespace dpledger::server {

AttentionNotes::AttentionNotes(LedgerStore* store)
    : log_(store,
           NewOwnLedger("projects/attention/ledgers/notes", "attention", "note",
                        "what was said of what needs attention; docs/dashboard.md"),
           [this](uint64_t sequence, const std::string& bytes) { return Take(sequence, bytes); }) {}

absl::Status AttentionNotes::Take(uint64_t sequence, const std::string& bytes) {
  v1::AttentionNote note;
  RETURN_IF_ERROR(ReadNote(log_.ledger(), sequence, bytes, note));
  if (!note.id().empty()) notes_[note.id()] = note;
  return absl::OkStatus();
}

absl::Status AttentionNotes::AddTo(std::vector<v1::AttentionItem>& items, const CallContext& call) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(log_.Refresh(call).status());
  for (v1::AttentionItem& item : items) {
    const auto note = notes_.find(item.id());
    if (note != notes_.end()) *item.mutable_note() = note->second;
  }
  return absl::OkStatus();
}

absl::Status AttentionNotes::Store(const v1::AttentionNote& note, const CallContext& call) {
  absl::MutexLock lock(&mutex_);
  return log_.Append(
      call, "text",
      [&](uint64_t) -> absl::StatusOr<const google::protobuf::Message*> { return &note; });
}

}  // namespace dpledger::server
