#include "ledger_store/postgres/staged_group.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger/batch_row.h"

namespace dpledger::postgres {

absl::Status LedgerNotFound(const std::string& name) {
  return WithReason(absl::NotFoundError(absl::StrCat(name, ": no such ledger")),
                    {"LEDGER_NOT_FOUND", {{"ledger", name}}});
}

void StagedGroup::AddLedger(LedgerHead head) {
  StagedLedger ledger;
  ledger.stored_size = head.tree.size();
  ledger.stored_root = merkle::ToBytes(head.tree.Root());
  const std::string name = head.name;
  ledger.head = std::move(head);
  ledgers_[name] = std::move(ledger);
}

void StagedGroup::AddRequest(RequestKey key, AnsweredRequest answered) {
  answered_[std::move(key)] = std::move(answered);
}

absl::StatusOr<v1::Receipt> StagedGroup::Stage(Operation& operation) {
  return std::visit([&](auto& request) { return Make(request, operation); }, operation.request);
}

absl::StatusOr<v1::Receipt> StagedGroup::Make(const v1::CreateLedgerRequest& request,
                                              const Operation& from) {
  if (Find(request.name()) != nullptr) return AnswerTaken(from);
  ASSIGN_OR_RETURN(NewLedger made, Create(request, now_));
  return TakeNew(std::move(made), from);
}

absl::StatusOr<v1::Receipt> StagedGroup::Make(const ForkAtPoint& fork, const Operation& from) {
  const v1::ForkLedgerRequest& request = fork.request;
  if (Find(request.name()) != nullptr) return AnswerTaken(from);
  StagedLedger* const parent = Find(request.parent());
  if (parent == nullptr) return LedgerNotFound(request.parent());
  ASSIGN_OR_RETURN(NewLedger made, Fork(parent->head, request, fork.point, now_));
  if (parent->head.state == v1::OPEN) {
    // The parent's request ids are its writers' to choose: a notice has none that could clash.
    ASSIGN_OR_RETURN(const LedgerChange notice,
                     NoticeFork(parent->head, request, fork.point, now_));
    Put(notice, *parent);
  }
  return TakeNew(std::move(made), from);
}

absl::StatusOr<v1::Receipt> StagedGroup::Make(v1::AppendBatchRequest& request, Operation& from) {
  StagedLedger* const ledger = Find(from.ledgers.front());
  if (ledger == nullptr) return LedgerNotFound(from.ledgers.front());
  absl::StatusOr<v1::Receipt> repeated = Repeated(from);
  if (!absl::IsNotFound(repeated.status())) return repeated;
  if (from.used_up && !request.ParseFromString(from.batch_bytes)) {
    return absl::InternalError("a batch does not parse that was serialised here");
  }
  from.used_up = true;
  const BatchDraft draft(std::move(request));
  const absl::StatusOr<LedgerChange> change = AppendBatch(ledger->head, draft, now_);
  if (change.ok()) return Take(*change, from, *ledger);
  const auto conflict = ConflictOf(ledger->head, draft, change.status(), now_);
  if (conflict.has_value()) Put(*conflict, *ledger);
  return change.status();
}

absl::StatusOr<v1::Receipt> StagedGroup::Make(const v1::SealLedgerRequest& request,
                                              const Operation& from) {
  StagedLedger* const ledger = Find(request.name());
  if (ledger == nullptr) return LedgerNotFound(request.name());
  absl::StatusOr<v1::Receipt> repeated = Repeated(from);
  if (!absl::IsNotFound(repeated.status())) return repeated;
  ASSIGN_OR_RETURN(const LedgerChange change, Seal(ledger->head, request, now_));
  return Take(change, from, *ledger);
}

StagedLedger* StagedGroup::Find(const std::string& name) {
  const auto found = ledgers_.find(name);
  return found == ledgers_.end() ? nullptr : &found->second;
}

absl::StatusOr<v1::Receipt> StagedGroup::Repeated(const Operation& operation) const {
  const RequestKey key(operation.ledgers.front(), operation.request_id);
  auto found = requests_.find(key);
  if (found == requests_.end()) {
    found = answered_.find(key);
    if (found == answered_.end()) return absl::NotFoundError("");
  }
  if (found->second.request_hash == merkle::ToBytes(operation.hash)) return found->second.receipt;
  return WithReason(
      absl::InvalidArgumentError("request_id: was used by another request on this ledger; "
                                 "the same id must bring the same entries"),
      {"REQUEST_ID_REUSED", {{"field", "request_id"}}});
}

absl::StatusOr<v1::Receipt> StagedGroup::AnswerTaken(const Operation& operation) const {
  absl::StatusOr<v1::Receipt> receipt = Repeated(operation);
  if (receipt.ok()) return receipt;
  const std::string& name = operation.ledgers.front();
  return WithReason(absl::AlreadyExistsError(absl::StrCat(
                        name, ": there is a ledger of this name, made by another request")),
                    {"LEDGER_EXISTS", {{"ledger", name}}});
}

v1::Receipt StagedGroup::TakeNew(NewLedger made, const Operation& from) {
  StagedLedger& ledger = ledgers_[made.empty.name];
  ledger.head = std::move(made.empty);
  ledger.first_entry = std::string(DecodeBatchRow(made.change.entries)->front());
  return Take(made.change, from, ledger);
}

v1::Receipt StagedGroup::Take(const LedgerChange& change, const Operation& from,
                              StagedLedger& ledger) {
  requests_[{from.ledgers.front(), from.request_id}] = {merkle::ToBytes(from.hash), change.receipt};
  Put(change, ledger);
  return change.receipt;
}

void StagedGroup::Put(const LedgerChange& change, StagedLedger& ledger) {
  for (Chunk& chunk : ToChunks(change.receipt.first_sequence(), change.entries)) {
    ledger.chunks.push_back(std::move(chunk));
  }
  Apply(change, ledger.head);
}

}  // namespace dpledger::postgres
