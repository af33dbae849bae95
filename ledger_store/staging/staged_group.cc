#include "ledger_store/staging/staged_group.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger/batch_row.h"
#include "ledger_store/staging/written_batch.h"

namespace dpledger {
namespace {

v1::Receipt Add(const LedgerChange& change, const Operation* request, StagedLedger& ledger) {
  if (request != nullptr) ledger.by_request[request->request_id] = ledger.changes.size();
  ledger.changes.push_back({&change, request});
  return change.receipt;
}

}  // namespace

absl::StatusOr<v1::Receipt> StagedGroup::Stage(const Operation& operation,
                                               const AheadOfTurn* ahead) {
  const AppendLine* const line = operation.line.get();
  if (line != nullptr && (line->BrokenBefore(operation.turn) || broken_.contains(line))) {
    return WithReason(absl::AbortedError("an earlier batch in line was refused"),
                      {"EARLIER_BATCH_REFUSED", {}});
  }
  if (ahead != nullptr && !operation.is_refusal()) {
    if (StagedLedger* const ledger = WhereItHolds(*ahead, operation); ledger != nullptr) {
      if (const absl::Status admitted = Admit(*ledger, ahead->change, operation); !admitted.ok()) {
        if (line != nullptr) broken_.insert(line);
        return admitted;
      }
      ledger->head = ahead->next;
      ledger->ahead = ahead;
      return Add(ahead->change, &operation, *ledger);
    }
  }
  absl::StatusOr<v1::Receipt> answer = Answer(operation);
  if (!answer.ok() && line != nullptr) broken_.insert(line);
  return answer;
}

absl::StatusOr<v1::Receipt> StagedGroup::Answer(const Operation& operation) {
  for (const std::string& name : operation.ledgers) {
    const StagedLedger* const ledger = Find(name);
    if (ledger != nullptr && ledger->head->needs_key) {
      return WithReason(absl::FailedPreconditionError(absl::StrCat(
                            name,
                            ": the store was opened without the key of its heads, to be read "
                            "only")),
                        {"KEY_NEEDED", {{"ledger", name}}});
    }
  }
  return std::visit([&](const auto& request) { return Make(request, operation); },
                    operation.request);
}

absl::StatusOr<v1::Receipt> StagedGroup::Make(const absl::Status& refusal, const Operation&) {
  return refusal;
}

absl::StatusOr<v1::Receipt> StagedGroup::Make(const v1::CreateLedgerRequest& request,
                                              const Operation& from) {
  if (const StagedLedger* taken = Find(request.name()); taken != nullptr) {
    return AnswerTaken(from, *taken);
  }
  if (const std::string& name = request.declaration().budget(); !name.empty()) {
    const StagedLedger* const budget = Find(name);
    if (budget == nullptr) return LedgerNotFound(name);
    v1::CreateLedgerRequest whole = request;
    v1::Declaration& declaration = *whole.mutable_declaration();
    if (!declaration.has_filter()) {
      *declaration.mutable_filter() = DeclarationOf(*budget->head).filter();
    }
    RETURN_IF_ERROR(CheckUnderBudget(*budget->head, declaration));
    ASSIGN_OR_RETURN(NewLedger made, Create(whole, {now_, from.caller}));
    return TakeNew(std::move(made), from);
  }
  ASSIGN_OR_RETURN(NewLedger made, Create(request, {now_, from.caller}));
  return TakeNew(std::move(made), from);
}

absl::StatusOr<v1::Receipt> StagedGroup::Make(const ForkAtPoint& fork, const Operation& from) {
  const v1::ForkLedgerRequest& request = fork.request;
  if (const StagedLedger* taken = Find(request.name()); taken != nullptr) {
    return AnswerTaken(from, *taken);
  }
  StagedLedger* const parent = Find(request.parent());
  if (parent == nullptr) return LedgerNotFound(request.parent());
  const Arrival arrival(now_, from.caller);
  ASSIGN_OR_RETURN(NewLedger made, Fork(*parent->head, request, fork.point, arrival));
  if (parent->head->state == v1::OPEN) {
    // The parent's request ids are its writers' to choose: a notice has none that could clash.
    ASSIGN_OR_RETURN(LedgerChange notice, NoticeFork(*parent->head, request, fork.point, arrival));
    Put(std::move(notice), nullptr, *parent);
  }
  return TakeNew(std::move(made), from);
}

absl::StatusOr<v1::Receipt> StagedGroup::Make(const BatchDraft& batch, const Operation& from) {
  StagedLedger* const ledger = Find(batch.ledger());
  if (ledger == nullptr) return LedgerNotFound(batch.ledger());
  // The writer's owner made all its requests: nobody else learns how they were answered.
  RETURN_IF_ERROR(CheckOwner(*ledger->head, batch, from.caller));
  absl::StatusOr<v1::Receipt> repeated = Repeated(from, *ledger);
  if (!absl::IsNotFound(repeated.status())) return repeated;
  const Arrival arrival(now_, from.caller);
  absl::StatusOr<LedgerChange> change = AppendBatch(*ledger->head, batch, arrival);
  if (change.ok()) {
    RETURN_IF_ERROR(Admit(*ledger, *change, from));
    return Put(*std::move(change), &from, *ledger);
  }
  if (ReasonOf(change.status()).reason == kWriterPosition && ledger->stored != nullptr) {
    return ReceiptOfWritten(stored_.reader(), *ledger->stored, batch, change.status());
  }
  auto conflict = ConflictOf(*ledger->head, batch, change.status(), arrival);
  if (conflict.has_value()) Put(*std::move(conflict), nullptr, *ledger);
  return change.status();
}

// The gate hears of the budget first: where it takes that and refuses the ledger, it goes back.
absl::StatusOr<v1::Receipt> StagedGroup::Make(const GrantAtSize& at_size, const Operation& from) {
  v1::GrantBudgetRequest grant = at_size.request;
  grant.mutable_plan()->Assign(at_size.plan.begin(), at_size.plan.end());
  StagedLedger* const budget = Find(grant.budget());
  if (budget == nullptr) return LedgerNotFound(grant.budget());
  absl::StatusOr<v1::Receipt> repeated = Repeated(from, *budget);
  if (repeated.ok()) RETURN_IF_ERROR(CheckMaker(from, *repeated, *budget));
  if (!absl::IsNotFound(repeated.status())) return repeated;
  StagedLedger* const ledger = Find(grant.ledger());
  if (ledger == nullptr) return LedgerNotFound(grant.ledger());
  const v1::Declaration& declaration = DeclarationOf(*ledger->head);
  if (declaration.budget() != grant.budget()) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "budget: ", grant.ledger(), " declares ",
                          declaration.budget().empty() ? "no budget" : declaration.budget(),
                          ", got ", grant.budget())),
                      {"NO_BUDGET", {{"field", "budget"}, {"ledger", grant.ledger()}}});
  }
  RETURN_IF_ERROR(CheckUnderBudget(*budget->head, declaration));
  if (at_size.budget_size != 0 && at_size.budget_size != budget->head->tree.size()) {
    return WithReason(absl::AbortedError(absl::StrCat(grant.budget(), ": has gone on meanwhile")),
                      {kBudgetChanged, {{"ledger", grant.budget()}}});
  }
  const Arrival arrival(now_, from.caller);
  ASSIGN_OR_RETURN(LedgerChange set_aside, Grant(*budget->head, declaration, grant, arrival));
  ASSIGN_OR_RETURN(LedgerChange granted, Grant(*ledger->head, declaration, grant, arrival));
  RETURN_IF_ERROR(Admit(*budget, set_aside, from));
  RETURN_IF_ERROR(Admit(*ledger, granted, from));
  // The ledger's request ids are its writers' to choose: what tells it has none that could clash. A
  // sealed one is told nothing: what it has not spent can be given back all the same.
  if (ledger->head->state == v1::OPEN) Put(std::move(granted), nullptr, *ledger);
  return Put(std::move(set_aside), &from, *budget);
}

absl::Status StagedGroup::Admit(const StagedLedger& ledger, const LedgerChange& change,
                                const Operation& from) {
  if (gate_ == nullptr || !gate_->Guards(*ledger.head)) return absl::OkStatus();
  return gate_->Admit(*ledger.head, change, from.caller, stored_.reader());
}

absl::StatusOr<v1::Receipt> StagedGroup::Make(const v1::SealLedgerRequest& request,
                                              const Operation& from) {
  StagedLedger* const ledger = Find(request.name());
  if (ledger == nullptr) return LedgerNotFound(request.name());
  absl::StatusOr<v1::Receipt> repeated = Repeated(from, *ledger);
  if (repeated.ok()) RETURN_IF_ERROR(CheckMaker(from, *repeated, *ledger));
  if (!absl::IsNotFound(repeated.status())) return repeated;
  ASSIGN_OR_RETURN(LedgerChange change, Seal(*ledger->head, request, {now_, from.caller}));
  return Put(std::move(change), &from, *ledger);
}

StagedLedger* StagedGroup::Find(const std::string& name) {
  const auto staged = ledgers_.find(name);
  if (staged != ledgers_.end()) return &staged->second;
  std::shared_ptr<const LedgerHead> stored = stored_.Head(name);
  if (stored == nullptr) return nullptr;
  StagedLedger& ledger = ledgers_[name];
  ledger.stored = ledger.head = std::move(stored);
  return &ledger;
}

absl::StatusOr<v1::Receipt> StagedGroup::Repeated(const Operation& from,
                                                  const StagedLedger& ledger) {
  if (const auto staged = ledger.by_request.find(from.request_id);
      staged != ledger.by_request.end()) {
    const auto& [change, request] = ledger.changes[staged->second];
    if (request->hash == from.hash) return change->receipt;
  } else if (ledger.stored == nullptr) {
    return absl::NotFoundError("");
  } else {
    ASSIGN_OR_RETURN(const v1::StoredRequest answered,
                     stored_.Answered(ledger.head->name, from.request_id));
    if (answered.request_hash() == merkle::ToBytes(from.hash)) {
      RETURN_IF_ERROR(
          CheckAnswered(stored_.reader(), *ledger.stored, from.request_id, answered.receipt()));
      return answered.receipt();
    }
  }
  return RequestIdReused();
}

absl::Status StagedGroup::CheckMaker(const Operation& from, const v1::Receipt& receipt,
                                     const StagedLedger& ledger) {
  if (from.caller.empty()) return absl::OkStatus();
  std::string first;  // the request's first entry, which names who made it
  if (const auto staged = ledger.by_request.find(from.request_id);
      staged != ledger.by_request.end()) {
    const LedgerChange& change = *ledger.changes[staged->second].change;
    first = DecodeBatchRow(change.entries).value().front();
  } else {
    ASSIGN_OR_RETURN(
        std::vector<std::string> read,
        stored_.reader().Read(ledger.head->name, receipt.first_sequence(), /*max_entries=*/1, 1));
    if (!read.empty()) first = std::move(read.front());
  }
  v1::LedgerEntry entry;
  if (first.empty() || !entry.ParseFromString(first)) {
    return absl::DataLossError(
        absl::StrCat(ledger.head->name, ": entry ", receipt.first_sequence(), " cannot be read"));
  }
  if (entry.caller().empty() || entry.caller() == from.caller) return absl::OkStatus();
  return RequestOfAnotherCaller();
}

absl::StatusOr<v1::Receipt> StagedGroup::AnswerTaken(const Operation& from,
                                                     const StagedLedger& taken) {
  const std::string& creator = taken.head->first->caller();
  const bool by_another = !from.caller.empty() && !creator.empty() && from.caller != creator;
  if (!by_another) {
    absl::StatusOr<v1::Receipt> receipt = Repeated(from, taken);
    if (!absl::IsNotFound(receipt.status()) && !absl::IsInvalidArgument(receipt.status())) {
      return receipt;
    }
  }
  const std::string& name = taken.head->name;
  return WithReason(absl::AlreadyExistsError(absl::StrCat(
                        name, ": there is a ledger of this name, made by another request")),
                    {"LEDGER_EXISTS", {{"ledger", name}}});
}

v1::Receipt StagedGroup::TakeNew(NewLedger made, const Operation& from) {
  StagedLedger& ledger = ledgers_[made.empty.name];
  made.empty.writers = WriterMap(key_);
  ledger.head = ledger.own = std::make_shared<LedgerHead>(std::move(made.empty));
  return Put(std::move(made.change), &from, ledger);
}

StagedLedger* StagedGroup::WhereItHolds(const AheadOfTurn& ahead, const Operation& from) {
  StagedLedger* const ledger = Find(from.ledgers.front());
  return ledger != nullptr && ledger->head == ahead.base &&
                 RecordedTime(*ahead.base, now_) == ahead.change.recorded_time
             ? ledger
             : nullptr;
}

void StagedGroup::CountInto(CommittedGroup& counted) const {
  for (const auto& [name, ledger] : ledgers_) {
    if (ledger.changes.empty()) continue;
    const uint64_t stored = ledger.stored == nullptr ? 0 : ledger.stored->tree.size();
    counted.entries += ledger.head->tree.size() - stored;
    counted.ledgers += ledger.stored == nullptr ? 1 : 0;
  }
}

v1::Receipt StagedGroup::Put(LedgerChange change, const Operation* request, StagedLedger& ledger) {
  if (ledger.own == nullptr) ledger.head = ledger.own = std::make_shared<LedgerHead>(*ledger.head);
  ledger.ahead = nullptr;
  Apply(change, *ledger.own);
  return Add(made_.emplace_back(std::move(change)), request, ledger);
}

}  // namespace dpledger
