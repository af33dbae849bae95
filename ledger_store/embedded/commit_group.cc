#include "ledger_store/embedded/commit_group.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/head_row.h"
#include "ledger_store/embedded/keys.h"

namespace dpledger::embedded {

namespace {

std::string RequestRow(const merkle::Hash& hash, const v1::Receipt& receipt) {
  v1::StoredRequest answered;
  answered.set_request_hash(merkle::ToBytes(hash));
  *answered.mutable_receipt() = receipt;
  return answered.SerializeAsString();
}

}  // namespace

BatchToAppend::BatchToAppend(v1::AppendBatchRequest request, rocksdb::DB& db,
                             const LedgerTable& table, absl::Time minute)
    : draft(std::move(request)), hash(draft.Hash()) {
  const absl::StatusOr<LedgerRecord> durable = table.Find(draft.ledger());
  if (!durable.ok()) return;
  const auto leave = [waiting = durable->waiting](std::atomic<int>* count) { count->fetch_sub(1); };
  const bool alone = durable->waiting->fetch_add(1) == 0;
  place = std::shared_ptr<std::atomic<int>>(durable->waiting.get(), leave);
  if (!alone) return;
  // After the head was read: whatever is answered later changes the head.
  std::string answered;
  if (!db.Get({}, RequestKey(durable->id, draft.request_id()), &answered).IsNotFound()) return;
  absl::StatusOr<LedgerChange> change = AppendBatch(*durable->head, draft, minute);
  if (!change.ok()) return;
  auto next = std::make_shared<LedgerHead>(*durable->head);
  Apply(*change, *next);
  HeadRow head_row;
  head_row.writer = change->writer;
  head_row.head = ToStored(*next);
  ahead = {durable->head,
           std::move(next),
           change->receipt,
           std::move(change->entries),
           RequestRow(hash, change->receipt),
           head_row.Serialize()};
}

CommitGroup::CommitGroup(rocksdb::DB& db, LedgerTable& table, absl::Time now,
                         rocksdb::WriteBatch& batch)
    : db_(db), table_(table), now_(now), next_id_(table.size()), batch_(batch) {}

absl::StatusOr<v1::Receipt> CommitGroup::Stage(v1::CreateLedgerRequest&& request,
                                               const merkle::Hash& hash) {
  if (const Ledger* taken = Find(request.name()); taken != nullptr) {
    return AnswerTaken(*taken, request.request_id(), hash);
  }
  ASSIGN_OR_RETURN(NewLedger made, Create(request, now_));
  return TakeNew(std::move(made), request.request_id(), hash);
}

absl::StatusOr<v1::Receipt> CommitGroup::Stage(ForkAtPoint&& fork, const merkle::Hash& hash) {
  const v1::ForkLedgerRequest& request = fork.request;
  if (const Ledger* taken = Find(request.name()); taken != nullptr) {
    return AnswerTaken(*taken, request.request_id(), hash);
  }
  Ledger* const parent = Find(request.parent());
  if (parent == nullptr) return LedgerNotFound(request.parent());
  ASSIGN_OR_RETURN(NewLedger made, Fork(parent->head(), request, fork.point, now_));
  if (parent->head().state == v1::OPEN) {
    // The parent's request ids are its writers' to choose: a notice has none that could clash.
    ASSIGN_OR_RETURN(const LedgerChange notice,
                     NoticeFork(parent->head(), request, fork.point, now_));
    Put(notice, *parent);
  }
  return TakeNew(std::move(made), request.request_id(), hash);
}

absl::StatusOr<v1::Receipt> CommitGroup::Stage(const BatchToAppend& batch,
                                               const merkle::Hash& hash) {
  Ledger* const ledger = Find(batch.draft.ledger());
  if (ledger == nullptr) return LedgerNotFound(batch.draft.ledger());
  const std::string key = RequestKey(ledger->durable.id, batch.draft.request_id());
  if (batch.ahead.has_value() && !ledger->is_changed() &&
      ledger->durable.head == batch.ahead->base &&
      RecordedTime(*batch.ahead->base, now_) == batch.ahead->next->last_recorded_time) {
    return TakeAhead(batch, key, *ledger);
  }
  absl::StatusOr<v1::Receipt> repeated = Repeated(key, hash);
  if (!absl::IsNotFound(repeated.status())) return repeated;
  const absl::StatusOr<LedgerChange> change = AppendBatch(ledger->head(), batch.draft, now_);
  if (change.ok()) return Take(*change, key, hash, *ledger);
  const auto conflict = ConflictOf(ledger->head(), batch.draft, change.status(), now_);
  if (conflict.has_value()) Put(*conflict, *ledger);
  return change.status();
}

absl::StatusOr<v1::Receipt> CommitGroup::Stage(v1::SealLedgerRequest&& request,
                                               const merkle::Hash& hash) {
  Ledger* const ledger = Find(request.name());
  if (ledger == nullptr) return LedgerNotFound(request.name());
  const std::string key = RequestKey(ledger->durable.id, request.request_id());
  absl::StatusOr<v1::Receipt> repeated = Repeated(key, hash);
  if (!absl::IsNotFound(repeated.status())) return repeated;
  ASSIGN_OR_RETURN(const LedgerChange change, Seal(ledger->head(), request, now_));
  return Take(change, key, hash, *ledger);
}

CommitGroup::Ledger* CommitGroup::Find(const std::string& name) {
  const auto staged = ledgers_.find(name);
  if (staged != ledgers_.end()) return &staged->second;
  absl::StatusOr<LedgerRecord> durable = table_.Find(name);
  if (!durable.ok()) return nullptr;
  return &ledgers_.emplace(name, Ledger{*std::move(durable), nullptr, {}, {}}).first->second;
}

absl::StatusOr<v1::StoredRequest> CommitGroup::Answered(const std::string& request_key) {
  const auto staged = requests_.find(request_key);
  v1::StoredRequest stored;
  if (staged != requests_.end()) {
    stored.ParseFromString(staged->second);
    return stored;
  }
  RETURN_IF_ERROR(GetRecord(db_, request_key, stored));
  return stored;
}

absl::StatusOr<v1::Receipt> CommitGroup::Repeated(const std::string& request_key,
                                                  const merkle::Hash& hash) {
  ASSIGN_OR_RETURN(const v1::StoredRequest stored, Answered(request_key));
  if (stored.request_hash() == merkle::ToBytes(hash)) return stored.receipt();
  return WithReason(
      absl::InvalidArgumentError("request_id: was used by another request on this ledger; "
                                 "the same id must bring the same entries"),
      {"REQUEST_ID_REUSED", {{"field", "request_id"}}});
}

absl::StatusOr<v1::Receipt> CommitGroup::AnswerTaken(const Ledger& taken,
                                                     const std::string& request_id,
                                                     const merkle::Hash& hash) {
  absl::StatusOr<v1::Receipt> receipt = Repeated(RequestKey(taken.durable.id, request_id), hash);
  if (!absl::IsNotFound(receipt.status()) && !absl::IsInvalidArgument(receipt.status())) {
    return receipt;
  }
  const std::string& name = taken.head().name;
  return WithReason(absl::AlreadyExistsError(absl::StrCat(
                        name, ": there is a ledger of this name, made by another request")),
                    {"LEDGER_EXISTS", {{"ledger", name}}});
}

v1::Receipt CommitGroup::TakeNew(NewLedger made, const std::string& request_id,
                                 const merkle::Hash& hash) {
  const std::string name = made.empty.name;
  Ledger& ledger = ledgers_[name];
  ledger.durable.id = next_id_++;
  ledger.changed = std::move(made.empty);
  batch_.Put(NameKey(name), EncodeNumber(ledger.durable.id));
  return Take(made.change, RequestKey(ledger.durable.id, request_id), hash, ledger);
}

v1::Receipt CommitGroup::Take(const LedgerChange& change, const std::string& request_key,
                              const merkle::Hash& hash, Ledger& ledger) {
  std::string& row = requests_[request_key] = RequestRow(hash, change.receipt);
  batch_.Put(request_key, row);
  Put(change, ledger);
  return change.receipt;
}

void CommitGroup::Put(const LedgerChange& change, Ledger& ledger) {
  batch_.Put(BatchKey(ledger.durable.id, change.receipt.first_sequence()), change.entries);
  if (!ledger.changed.has_value()) ledger.changed = ledger.head();
  if (ledger.ahead != nullptr) ledger.changed_writers.insert(ledger.ahead->draft.writer());
  ledger.ahead = nullptr;
  Apply(change, *ledger.changed);
  ledger.changed_writers.insert(change.writer.writer());
}

v1::Receipt CommitGroup::TakeAhead(const BatchToAppend& batch, const std::string& request_key,
                                   Ledger& ledger) {
  const BatchToAppend::Ahead& ahead = *batch.ahead;
  requests_[request_key] = ahead.request_row;
  batch_.Put(request_key, ahead.request_row);
  batch_.Put(BatchKey(ledger.durable.id, ahead.receipt.first_sequence()), ahead.batch_row);
  ledger.ahead = &batch;
  return ahead.receipt;
}

void CommitGroup::Finish() {
  for (const auto& [name, ledger] : ledgers_) {
    if (ledger.ahead != nullptr) {
      batch_.Put(HeadKey(ledger.durable.id, ledger.ahead->draft.writer()),
                 ledger.ahead->ahead->head_row);
    } else if (ledger.changed.has_value()) {
      HeadRow row;
      row.head = ToStored(*ledger.changed);
      for (const std::string& writer : ledger.changed_writers) {
        row.writer = ledger.changed->writers.at(writer);
        batch_.Put(HeadKey(ledger.durable.id, writer), row.Serialize());
      }
    }
  }
}

void CommitGroup::Publish() {
  for (auto& [name, ledger] : ledgers_) {
    if (ledger.ahead != nullptr) {
      table_.Put({ledger.durable.id, ledger.ahead->ahead->next, nullptr});
    } else if (ledger.changed.has_value()) {
      table_.Put({ledger.durable.id, std::make_shared<const LedgerHead>(*std::move(ledger.changed)),
                  nullptr});
    }
  }
}

}  // namespace dpledger::embedded
