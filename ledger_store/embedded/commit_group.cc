#include "ledger_store/embedded/commit_group.h"

#include <set>
#include <utility>
#include <variant>

#include "base/status.h"
#include "ledger/stored_head.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/keys.h"

namespace dpledger::embedded {
namespace {

std::string RequestRow(const Operation& request, const v1::Receipt& receipt) {
  v1::StoredRequest answered;
  answered.set_request_hash(merkle::ToBytes(request.hash));
  *answered.mutable_receipt() = receipt;
  return answered.SerializeAsString();
}

}  // namespace

void QueuedOperation::WorkAhead(rocksdb::DB& db, const LedgerTable& table, absl::Time minute,
                                AppendGate* gate) {
  const BatchDraft* const draft = std::get_if<BatchDraft>(&request);
  if (draft == nullptr) return;
  bytes += sizeof(*this) - sizeof(Operation);
  const absl::StatusOr<LedgerRecord> durable = table.Find(draft->ledger());
  if (!durable.ok() || durable->head->needs_key) return;
  std::atomic<int>& waiting = table.Waiting(durable->id);
  const bool alone = waiting.fetch_add(1) == 0;
  place = {&waiting, [](std::atomic<int>* count) { count->fetch_sub(1); }};
  if (!alone) return;
  // After the head was read: whatever is answered later changes the head.
  std::string answered;
  if (!db.Get({}, RequestKey(durable->id, request_id), &answered).IsNotFound()) return;
  absl::StatusOr<LedgerChange> change = AppendBatch(*durable->head, *draft, {minute, caller});
  if (!change.ok()) return;
  auto next = std::make_shared<LedgerHead>(*durable->head);
  Apply(*change, *next);
  bytes += change->entries.size();
  std::string request_row = RequestRow(*this, change->receipt);
  std::string head_row = HeadRow{change->writer, ToStored(*next)}.Serialize();
  const bool is_guarded = gate != nullptr && gate->Guards(*durable->head);
  auto gated = is_guarded ? gate->WorkAhead(*durable->head, *change) : nullptr;
  ahead = {durable->head,          std::move(next),     *std::move(change),
           std::move(request_row), std::move(head_row), std::move(gated)};
}

std::shared_ptr<const LedgerHead> CommitGroup::Head(const std::string& ledger) {
  absl::StatusOr<LedgerRecord> durable = table_.Find(ledger);
  return durable.ok() ? std::move(durable->head) : nullptr;
}

absl::StatusOr<v1::StoredRequest> CommitGroup::Answered(const std::string& ledger,
                                                        const std::string& request_id) {
  ASSIGN_OR_RETURN(const LedgerRecord durable, table_.Find(ledger));
  v1::StoredRequest stored;
  RETURN_IF_ERROR(GetRecord(db_, RequestKey(durable.id, request_id), stored));
  return stored;
}

size_t CommitGroup::BytesToWrite() const {
  // Keys, a receipt, sizes, the head but for its frontier: under 400 bytes, with room.
  constexpr size_t kRest = 1024;
  size_t bytes = kRest;
  for (const auto& [name, ledger] : staged_.ledgers()) {
    const size_t frontier = ledger.head->tree.frontier().size() * sizeof(merkle::Hash);
    for (const auto& [change, request] : ledger.changes) {
      bytes += change->entries.size() + change->writer.ByteSizeLong() + frontier + kRest;
    }
  }
  return bytes;
}

void CommitGroup::Write(rocksdb::WriteBatch& batch) {
  uint64_t next_id = table_.size();
  for (const auto& [name, ledger] : staged_.ledgers()) {
    if (ledger.changes.empty()) continue;
    const bool is_new = ledger.stored == nullptr;
    const uint64_t id = is_new ? next_id++ : table_.Find(name)->id;
    if (is_new) batch.Put(NameKey(name), EncodeNumber(id));
    std::set<std::string> writers;
    for (const auto& [change, request] : ledger.changes) {
      batch.Put(BatchKey(id, change->receipt.first_sequence()), change->entries);
      writers.insert(change->writer.writer());
      if (request == nullptr) continue;
      batch.Put(RequestKey(id, request->request_id), ledger.ahead != nullptr
                                                         ? ledger.ahead->request_row
                                                         : RequestRow(*request, change->receipt));
    }
    if (ledger.ahead != nullptr) {
      batch.Put(HeadKey(id, *writers.begin()), ledger.ahead->head_row);
    } else {
      const v1::StoredHead end = ToStored(*ledger.head);
      for (const std::string& writer : writers) {
        batch.Put(HeadKey(id, writer),
                  HeadRow{*ledger.head->writers.Find(writer), end}.Serialize());
      }
    }
    written_.push_back({id, ledger.head});
  }
}

void CommitGroup::Publish() {
  for (LedgerRecord& record : written_) table_.Put(std::move(record));
}

}  // namespace dpledger::embedded
