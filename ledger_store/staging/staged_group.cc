#include "ledger_store/staging/staged_group.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "google/protobuf/io/coded_stream.h"
#include "ledger/batch_row.h"
#include "ledger/request_rules.h"
#include "merkle/compact_tree.h"
#include "merkle/tile_tree.h"

namespace dpledger {
namespace {

v1::Receipt Add(const LedgerChange& change, const Operation* request, StagedLedger& ledger) {
  if (request != nullptr) ledger.by_request[request->request_id] = ledger.changes.size();
  ledger.changes.push_back({&change, request});
  return change.receipt;
}

// How many entries from the end on are searched.
constexpr uint64_t kMostSearched = uint64_t{1} << 16;
constexpr uint64_t kPageEntries = 1000;
constexpr size_t kPageBytes = size_t{4} << 20;

// Whether the stored entry is of that request. (A CONFLICT bears the id of what it refused.)
bool IsOf(const BatchDraft& batch, const v1::LedgerEntry& entry) {
  return entry.writer() == batch.writer() && entry.request_id() == batch.request_id() &&
         !entry.has_conflict();
}

// Whether the stored entry has the body of the batch's: they are fields of the same messages.
bool HasBody(const v1::LedgerEntry& stored, const BatchDraft& batch,
             const BatchDraft::Entry& entry) {
  const google::protobuf::FieldDescriptor* field =
      v1::LedgerEntry::descriptor()->FindFieldByNumber(StoredFieldOf(entry.body));
  const google::protobuf::Reflection& fields = *stored.GetReflection();
  if (field == nullptr || !fields.HasField(stored, field)) return false;
  const std::string body = SerializeDeterministically(fields.GetMessage(stored, field));
  const std::string_view asked = batch.BodyOf(entry);
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(asked.data()),
                                            static_cast<int>(asked.size()));
  uint32_t length = 0;
  if (!in.ReadVarint32(&length)) return false;
  return asked.substr(static_cast<size_t>(in.CurrentPosition())) == body;
}

struct Found {
  uint64_t first = 0;
  std::vector<v1::LedgerEntry> entries;
};

// The entries of the request, which follow each other, from the ledger's end on.
absl::StatusOr<std::optional<Found>> FindWritten(LedgerReader& store, const LedgerHead& head,
                                                 const BatchDraft& batch) {
  const uint64_t size = head.tree.size();
  const uint64_t least = size - std::min(size, kMostSearched);
  std::vector<v1::LedgerEntry> backwards;
  uint64_t first = 0;
  for (uint64_t end = size; end > least;) {
    const uint64_t begin = end - std::min(end - least, kPageEntries);
    ASSIGN_OR_RETURN(const std::vector<std::string> page, ReadAll(store, head.name, begin, end));
    for (uint64_t sequence = end; sequence-- > begin;) {
      v1::LedgerEntry entry;
      if (!entry.ParseFromString(page[sequence - begin])) {
        return absl::DataLossError(
            absl::StrCat(head.name, ": entry ", sequence, " does not parse"));
      }
      if (IsOf(batch, entry)) {
        first = sequence;
        backwards.push_back(std::move(entry));
      } else if (!backwards.empty()) {
        return Found{first, {backwards.rbegin(), backwards.rend()}};
      }
    }
    end = begin;
  }
  // What goes on before the last one searched may be a part of the request.
  if (backwards.empty() || least > 0) return std::nullopt;
  return Found{first, {backwards.rbegin(), backwards.rend()}};
}

// The root of the first `size` entries: from the tiles as far as they go, and checked by hashing on
// to the head's.
absl::StatusOr<merkle::Hash> RootAt(LedgerReader& store, const LedgerHead& head, uint64_t size) {
  uint64_t next = 0;
  const absl::StatusOr<v1::StoredCheckpoint> last = store.checkpoints().Latest(head.name);
  if (last.ok()) next = std::min(size, last->size());
  if (!last.ok() && !absl::IsNotFound(last.status())) return last.status();
  LogTiles tiles(store.checkpoints(), head.name);
  ASSIGN_OR_RETURN(merkle::TileBuilder tree, merkle::TileBuilder::Resume(next, tiles));
  merkle::Hash root = tree.Root();
  RETURN_IF_ERROR(
      store.ForEachEntry(head.name, next, head.tree.size(), [&](const std::string& entry) {
        tree.Append(merkle::LeafHash(entry));
        if (tree.size() == size) root = tree.Root();
        if (tree.size() % kPageEntries == 0) tree.TakeChanged();
        return absl::OkStatus();
      }));
  if (tree.Root() == head.tree.Root()) return root;
  return absl::DataLossError(
      absl::StrCat(head.name, ": its entries and tiles do not lead to the root of its head"));
}

absl::Status Unborne(const LedgerHead& head, const std::string& request_id) {
  return WithReason(
      absl::DataLossError(absl::StrCat(head.name, ": its record of how request ", request_id,
                                       " was answered is not that of its entries")),
      {kForgedAnswer, {{"ledger", head.name}}});
}

// DATA_LOSS (kForgedAnswer) unless the receipt is of entries that bear the request's id: its first
// and its last are read, and its root is compared if it is the head's. `head` is durable.
absl::Status CheckAnswered(LedgerReader& store, const LedgerHead& head,
                           const std::string& request_id, const v1::Receipt& receipt) {
  const uint64_t first = receipt.first_sequence();
  const uint64_t size = receipt.size();
  if (receipt.count() == 0 || size > head.tree.size() || first >= size ||
      receipt.count() != size - first ||
      (size == head.tree.size() && receipt.root_hash() != merkle::ToBytes(head.tree.Root()))) {
    return Unborne(head, request_id);
  }
  for (const uint64_t sequence : {first, size - 1}) {
    ASSIGN_OR_RETURN(const std::vector<std::string> read,
                     store.Read(head.name, sequence, 1, kPageBytes));
    v1::LedgerEntry entry;
    if (read.empty() || !entry.ParseFromString(read.front()) || entry.sequence() != sequence ||
        entry.request_id() != request_id || entry.has_conflict() || entry.has_fork_notice() ||
        entry.has_granted()) {
      return Unborne(head, request_id);
    }
  }
  return absl::OkStatus();
}

// The batch's receipt, made again from its entries: those of its writer that bear its request id
// and have its bodies. The entries and tiles lead to the head's root. `refused` if there are no
// such entries among the last kMostSearched; INVALID_ARGUMENT (REQUEST_ID_REUSED) if they hold
// something else; DATA_LOSS if the store's entries or tiles do not lead to the root.
absl::StatusOr<v1::Receipt> ReceiptOfWritten(LedgerReader& store, const LedgerHead& head,
                                             const BatchDraft& batch, const absl::Status& refused) {
  ASSIGN_OR_RETURN(const std::optional<Found> found, FindWritten(store, head, batch));
  if (!found.has_value()) return refused;
  bool is_same = found->entries.size() == batch.entries().size();
  for (size_t i = 0; is_same && i < batch.entries().size(); ++i) {
    is_same = HasBody(found->entries[i], batch, batch.entries()[i]);
  }
  if (!is_same) return RequestIdReused();
  v1::Receipt receipt;
  receipt.set_first_sequence(found->first);
  receipt.set_count(found->entries.size());
  receipt.set_size(found->first + found->entries.size());
  ASSIGN_OR_RETURN(const merkle::Hash root, RootAt(store, head, receipt.size()));
  receipt.set_root_hash(merkle::ToBytes(root));
  return receipt;
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
      if (const absl::Status admitted =
              Admit(*ledger, ahead->change, operation, ahead->gated.get());
          !admitted.ok()) {
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
  RETURN_IF_ERROR(CheckMayBeGranted(*ledger->head));
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
                                const Operation& from, AppendGate::Ahead* ahead) {
  if (gate_ == nullptr || !gate_->Guards(*ledger.head)) return absl::OkStatus();
  return gate_->Admit(*ledger.head, change, from.caller, stored_.reader(), ahead);
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
