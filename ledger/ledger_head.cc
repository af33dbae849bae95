#include "ledger/ledger_head.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status.h"
#include "events/grant_rules.h"
#include "events/seal_rules.h"
#include "events/writer_rules.h"
#include "ledger/change_builder.h"
#include "ledger/request_rules.h"
#include "ledger/seal_body.h"
#include "ledger/shared_first.h"

namespace dpledger {
namespace {

google::protobuf::Timestamp ToProto(absl::Time time) {
  google::protobuf::Timestamp proto;
  proto.set_seconds(absl::ToUnixSeconds(time));
  return proto;
}

absl::Status Precondition(const std::string& message, const std::string& reason,
                          std::map<std::string, std::string> metadata) {
  return WithReason(absl::FailedPreconditionError(message), {reason, std::move(metadata)});
}

absl::Status CheckOpen(const LedgerHead& head) {
  if (head.state == v1::OPEN) return absl::OkStatus();
  return Precondition(absl::StrCat(head.name, ": is sealed, nothing can follow"), "LEDGER_SEALED",
                      {{"ledger", head.name}});
}

absl::Status CheckCorrection(const BatchDraft::Entry& correction, uint64_t sequence) {
  if (correction.number < sequence) return absl::OkStatus();
  return FieldError("correction.corrected_sequence",
                    absl::StrCat("must be an entry before this one, below ", sequence, ", got ",
                                 correction.number.value_or(0)));
}

// Entry k of the original stands at k + 1 of its copy.
absl::Status CheckImported(const BatchDraft::Entry& imported, const v1::Import& import,
                           uint64_t sequence) {
  if (sequence > import.size()) {
    return FieldError("imported.entry", absl::StrCat("must not follow the ", import.size(),
                                                     " entries that the import declares"));
  }
  if (!imported.number.has_value()) {
    return FieldError("imported.entry", "must be a serialised LedgerEntry");
  }
  if (*imported.number + 1 != sequence) {
    return FieldError("imported.entry",
                      absl::StrCat("must be entry ", sequence - 1, " of the original, got entry ",
                                   *imported.number));
  }
  return absl::OkStatus();
}

absl::Status BudgetOnly(const LedgerHead& head) {
  return Precondition(
      absl::StrCat(head.name, ": is a budget; what runs do stands in ledgers of their own"),
      "BUDGET_ONLY", {{"ledger", head.name}});
}

// An import has IMPORTED entries only, and no other ledger has any. A budget has no events.
absl::Status CheckPlace(const BatchDraft::Entry& entry, const LedgerHead& head, uint64_t sequence) {
  if (DeclarationOf(head).kind() == v1::BUDGET && entry.body == v1::NewEntry::kEvent)
    return BudgetOnly(head);
  if (entry.body == v1::NewEntry::kRetiredBlocks &&
      DeclarationOf(head).block_assignment().empty()) {
    return Precondition(
        absl::StrCat(head.name, ": is no budget with blocks: it has none to retire"), "NO_BLOCKS",
        {{"ledger", head.name}});
  }
  if (head.first->has_import()) {
    if (entry.body == v1::NewEntry::kImported) {
      return CheckImported(entry, head.first->import(), sequence);
    }
    if (entry.body == v1::NewEntry::kWriterClosed) return absl::OkStatus();
    return Precondition(
        absl::StrCat(head.name,
                     ": is a copy of another ledger, and takes its entries only; fork "
                     "it to carry on"),
        "IMPORT_ONLY", {{"ledger", head.name}});
  }
  if (entry.body == v1::NewEntry::kImported) {
    return FieldError("imported", "must not be set: this ledger was not made by an import");
  }
  return absl::OkStatus();
}

// What nobody could read is not written.
absl::Status CheckRoomForWriter(const LedgerHead& head, const BatchDraft& batch) {
  if (head.writers.size() < events::kMostWriters || head.writers.Find(batch.writer()).has_value()) {
    return absl::OkStatus();
  }
  return Precondition(absl::StrCat("writer: ", head.name, " has ", events::kMostWriters,
                                   " writers, the most that a ledger may have, and ",
                                   batch.writer(), " is none of them; fork it to carry on"),
                      "TOO_MANY_WRITERS",
                      {{"field", "writer"},
                       {"writer", batch.writer()},
                       {"limit", absl::StrCat(events::kMostWriters)}});
}

// A batch that may change nothing but to make the ledger say more.
absl::Status CheckLate(const LedgerHead& head, const BatchDraft& batch) {
  if (DeclarationOf(head).kind() == v1::BUDGET) return BudgetOnly(head);
  if (head.first->has_import()) {
    return Precondition(absl::StrCat(head.name,
                                     ": is a copy of another ledger; the spool belongs "
                                     "to the original"),
                        "IMPORT_ONLY", {{"ledger", head.name}});
  }
  if (head.writers.Find(batch.writer()).has_value()) return absl::OkStatus();
  return Precondition(absl::StrCat("writer: ", batch.writer(), " has written nothing in ",
                                   head.name, ", and what it never opened it cannot have released"),
                      "WRITER_UNKNOWN", {{"field", "writer"}, {"writer", batch.writer()}});
}

// The entries of the writer's last incarnation, if the batch is of it and says what it follows on;
// else nullopt.
std::optional<uint64_t> EntriesBefore(const LedgerHead& head, const BatchDraft& batch) {
  if (!batch.writer_position().has_value() || batch.is_late()) return std::nullopt;
  const std::optional<v1::WriterStatus> writer = head.writers.Find(batch.writer());
  if (!writer.has_value() || writer->incarnation() != batch.incarnation()) return std::nullopt;
  return writer->entry_count() - writer->late_entries();
}

absl::Status WrongPosition(const LedgerHead& head, const BatchDraft& batch, uint64_t entries,
                           const char* what, const char* reason) {
  return Precondition(absl::StrCat("writer_position: must be ", entries, ", the entries that ",
                                   head.name, " has of writer ", batch.writer(), ", got ",
                                   *batch.writer_position(), "; ", what),
                      reason,
                      {{"field", "writer_position"},
                       {"writer", batch.writer()},
                       {"entry_count", absl::StrCat(entries)}});
}

// That no entries stand yet where the batch belongs.
absl::Status CheckNotThere(const LedgerHead& head, const BatchDraft& batch,
                           std::optional<uint64_t> entries) {
  if (!entries.has_value() || *batch.writer_position() >= *entries) return absl::OkStatus();
  return WrongPosition(head, batch, *entries,
                       "the batch was made before, or another process writes as this one",
                       kWriterPosition);
}

// That it leaves none out. A writer that has closed is refused for that: what its spool still holds
// then comes as late events, for which a gap is no reason.
absl::Status CheckNoGap(const LedgerHead& head, const BatchDraft& batch,
                        std::optional<uint64_t> entries) {
  if (!entries.has_value() || *batch.writer_position() <= *entries ||
      head.writers.Find(batch.writer())->closed()) {
    return absl::OkStatus();
  }
  return WrongPosition(head, batch, *entries, "what comes before the batch is not in the ledger",
                       "WRITER_GAP");
}

// What the entry makes of its writer.
absl::Status TakeEntry(const LedgerHead& head, const BatchDraft& batch,
                       const BatchDraft::Entry& entry, uint64_t sequence,
                       v1::WriterStatus& writer) {
  switch (entry.body) {
    case v1::NewEntry::kEvent: {
      events::RoundStep step{entry.round, entry.number.value_or(0)};
      if (entry.kept.has_value()) step = events::StepOf(batch.kept(*entry.kept).event());
      const absl::Status taken = events::TakeRound(step, writer);
      return taken.ok() ? taken : PrefixField("event", taken);
    }
    case v1::NewEntry::kOpened:
      return events::TakeOpened(batch.kept(*entry.kept).opened(), sequence,
                                DeclarationOf(head).spool_policy(), writer);
    case v1::NewEntry::kResume:
      events::TakeResume(sequence, writer);
      return absl::OkStatus();
    case v1::NewEntry::kWriterClosed:
      return events::TakeClosed(entry.number.value_or(0), writer);
    case v1::NewEntry::kCorrection:
      return CheckCorrection(entry, sequence);
    case v1::NewEntry::kLateEvent:
      events::TakeLateEvent(writer);
      return absl::OkStatus();
    case v1::NewEntry::kSpoolImported:
      events::TakeSpoolImported(batch.kept(*entry.kept).spool_imported().incarnation(), sequence,
                                writer);
      return absl::OkStatus();
    case v1::NewEntry::kNote:
    case v1::NewEntry::kImported:
    case v1::NewEntry::kRetiredBlocks:
    case v1::NewEntry::BODY_NOT_SET:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status AppendOne(const LedgerHead& head, const BatchDraft& batch,
                       const BatchDraft::Entry& entry, ChangeBuilder& builder) {
  v1::WriterStatus& writer = builder.writer();
  if (!batch.is_late()) {
    RETURN_IF_ERROR(CheckPlace(entry, head, builder.next_sequence()));
    // An opening ends the incarnations before it.
    RETURN_IF_ERROR(events::CheckMayWrite(
        entry.body == v1::NewEntry::kOpened ? writer.incarnation() : batch.incarnation(), writer));
  }
  RETURN_IF_ERROR(TakeEntry(head, batch, entry, builder.next_sequence(), writer));
  builder.SetClaimedTime(entry.claimed_seconds);
  return builder.Push(StoredFieldOf(entry.body), batch.BodyOf(entry));
}

absl::Status PushFirst(const v1::LedgerEntry& first, ChangeBuilder& builder) {
  if (first.has_fork()) return builder.Push(v1::LedgerEntry::kForkFieldNumber, first.fork());
  if (first.has_import()) return builder.Push(v1::LedgerEntry::kImportFieldNumber, first.import());
  return builder.Push(v1::LedgerEntry::kDeclarationFieldNumber, first.declaration());
}

// The ledger that begins with `first`, whose body alone is set.
absl::StatusOr<NewLedger> Begin(const std::string& name, v1::LedgerEntry first,
                                const std::string& request_id, const Arrival& arrival) {
  NewLedger made;
  made.empty.name = name;
  if (!arrival.caller.empty()) first.set_caller(std::string(arrival.caller));
  made.empty.first = SharedFirst(std::move(first));
  made.empty.create_time = CutToMinute(arrival.time);
  made.empty.last_recorded_time = made.empty.create_time;
  ChangeBuilder builder(made.empty, "", request_id, arrival);
  RETURN_IF_ERROR(PushFirst(*made.empty.first, builder));
  made.change = std::move(builder).Finish(v1::OPEN);
  made.empty.first_leaf = made.change.tree.Root();  // a tree of one leaf
  return made;
}

}  // namespace

int StoredFieldOf(v1::NewEntry::BodyCase body) {
  // Both messages have fields of the same names.
  static const auto* const kFields = [] {
    auto* const fields = new std::map<int, int>;
    const google::protobuf::OneofDescriptor& bodies = *v1::NewEntry::descriptor()->oneof_decl(0);
    for (int i = 0; i < bodies.field_count(); ++i) {
      const google::protobuf::FieldDescriptor& of_new = *bodies.field(i);
      (*fields)[of_new.number()] =
          v1::LedgerEntry::descriptor()->FindFieldByName(of_new.name())->number();
    }
    return fields;
  }();
  const auto found = kFields->find(body);
  return found == kFields->end() ? 0 : found->second;
}

absl::Time RecordedTime(const LedgerHead& head, absl::Time now) {
  return std::max(head.last_recorded_time, CutToMinute(now));
}

absl::StatusOr<NewLedger> Create(const v1::CreateLedgerRequest& request, const Arrival& arrival) {
  v1::LedgerEntry first;
  if (request.has_import()) {
    *first.mutable_import() = request.import();
  } else {
    *first.mutable_declaration() = request.declaration();
  }
  absl::StatusOr<NewLedger> made =
      Begin(request.name(), std::move(first), request.request_id(), arrival);
  if (made.ok()) return made;
  return PrefixField(request.has_import() ? "import" : "declaration", made.status());
}

absl::StatusOr<NewLedger> Fork(const LedgerHead& parent, const v1::ForkLedgerRequest& request,
                               const LedgerPoint& point, const Arrival& arrival) {
  if (point.size > parent.tree.size()) {
    return WithReason(
        absl::OutOfRangeError(absl::StrCat("parent_size: must be at most ", parent.tree.size(),
                                           ", the size of ", parent.name, ", got ", point.size)),
        {"BEYOND_LEDGER", {{"current_sequence", absl::StrCat(parent.tree.size())}}});
  }
  if (point.size == 0) return FieldError("parent_size", "must be at least 1");
  if (DeclarationOf(parent).kind() == v1::BUDGET) {
    return FieldError("parent", "must not be a budget: what it set aside would be set aside twice");
  }
  if (parent.first->has_import() && !DeclarationOf(parent).budget().empty()) {
    return FieldError("parent",
                      "must not be a copy of a run under a budget: what it cost was granted on "
                      "another server");
  }
  if (parent.first->has_import() && point.size <= parent.first->import().size()) {
    return FieldError("parent_size",
                      absl::StrCat("must take all ", parent.first->import().size() + 1,
                                   " entries of a copied ledger, got ", point.size));
  }
  v1::LedgerEntry first;
  v1::Fork& fork = *first.mutable_fork();
  fork.set_parent(parent.name);
  fork.set_parent_size(point.size);
  fork.set_parent_root(merkle::ToBytes(point.root));
  fork.set_reason(request.reason());
  *fork.mutable_declaration() =
      request.has_declaration() ? request.declaration() : DeclarationOf(parent);
  const char* differs = events::NotInherited(DeclarationOf(parent), fork.declaration());
  if (differs != nullptr) {
    return FieldError(absl::StrCat("declaration.", differs), "must be the parent's");
  }
  absl::StatusOr<NewLedger> made =
      Begin(request.name(), std::move(first), request.request_id(), arrival);
  if (made.ok()) return made;
  return PrefixField("declaration", made.status());
}

absl::StatusOr<LedgerChange> NoticeFork(const LedgerHead& parent,
                                        const v1::ForkLedgerRequest& request,
                                        const LedgerPoint& point, const Arrival& arrival) {
  ChangeBuilder builder(parent, "", request.request_id(), arrival);
  v1::ForkNotice notice;
  notice.set_child(request.name());
  notice.set_size(point.size);
  RETURN_IF_ERROR(builder.Push(v1::LedgerEntry::kForkNoticeFieldNumber, notice));
  return std::move(builder).Finish(parent.state);
}

absl::Status CheckUnderBudget(const LedgerHead& budget, const v1::Declaration& declaration) {
  if (DeclarationOf(budget).kind() != v1::BUDGET || budget.first->has_import()) {
    return Precondition(absl::StrCat("budget: ", budget.name, " is no budget of this server"),
                        "NO_BUDGET", {{"field", "budget"}, {"ledger", budget.name}});
  }
  RETURN_IF_ERROR(CheckOpen(budget));
  const char* differs = events::NotOfBudget(DeclarationOf(budget), declaration);
  if (differs == nullptr) return absl::OkStatus();
  return FieldError(absl::StrCat("declaration.", differs), "must be the budget's");
}

absl::Status CheckMayBeGranted(const LedgerHead& run) {
  if (!run.first->has_import()) return absl::OkStatus();
  return Precondition(absl::StrCat(run.name,
                                   ": is a copy of another ledger: what it spent was granted on "
                                   "another server; fork its original there to carry on"),
                      "IMPORT_ONLY", {{"ledger", run.name}});
}

absl::StatusOr<LedgerChange> Grant(const LedgerHead& head, const v1::Declaration& run,
                                   const v1::GrantBudgetRequest& request, const Arrival& arrival) {
  ChangeBuilder builder(head, "", request.request_id(), arrival);
  v1::BudgetGrant grant;
  grant.set_budget(request.budget());
  grant.set_ledger(request.ledger());
  *grant.mutable_plan() = request.plan();
  grant.set_reason(request.reason());
  *grant.mutable_blocks() = run.blocks();
  const int field = head.name == request.budget() ? v1::LedgerEntry::kGrantFieldNumber
                                                  : v1::LedgerEntry::kGrantedFieldNumber;
  if (absl::Status pushed = builder.Push(field, grant); !pushed.ok()) {
    return PrefixField("plan", pushed);
  }
  return std::move(builder).Finish(head.state);
}

absl::Status CheckOwner(const LedgerHead& head, const BatchDraft& batch, std::string_view caller) {
  if (caller.empty()) return absl::OkStatus();  // not asked: the writer need not be looked up
  const std::optional<v1::WriterStatus> writer = head.writers.Find(batch.writer());
  absl::Status status = writer.has_value() ? events::CheckOwner(caller, *writer) : absl::OkStatus();
  if (status.ok()) return status;
  ErrorReason reason = ReasonOf(status);
  reason.metadata["ledger"] = head.name;
  reason.metadata["request_id"] = batch.request_id();
  return WithReason(status, reason);
}

absl::StatusOr<LedgerChange> AppendBatch(const LedgerHead& head, const BatchDraft& batch,
                                         const Arrival& arrival) {
  RETURN_IF_ERROR(CheckOwner(head, batch, arrival.caller));
  const std::optional<uint64_t> entries = EntriesBefore(head, batch);
  RETURN_IF_ERROR(CheckNotThere(head, batch, entries));
  RETURN_IF_ERROR(batch.is_late() ? CheckLate(head, batch) : CheckOpen(head));
  RETURN_IF_ERROR(CheckNoGap(head, batch, entries));
  if (batch.expected_sequence().has_value() && batch.expected_sequence() != head.tree.size()) {
    return WithReason(
        absl::AbortedError(absl::StrCat("expected_sequence: the next entry of ", head.name, " is ",
                                        head.tree.size(), ", got ", *batch.expected_sequence())),
        {"SEQUENCE_MISMATCH", {{"current_sequence", absl::StrCat(head.tree.size())}}});
  }
  RETURN_IF_ERROR(CheckRoomForWriter(head, batch));
  ChangeBuilder builder(head, batch.writer(), batch.request_id(), arrival);
  RETURN_IF_ERROR(events::TakeCaller(arrival.caller, builder.writer()));
  builder.Reserve(batch.MemoryBytes());
  for (size_t i = 0; i < batch.entries().size(); ++i) {
    if (absl::Status appended = AppendOne(head, batch, batch.entries()[i], builder);
        !appended.ok()) {
      return PrefixField(absl::StrCat("entries[", i, "]"), appended);
    }
  }
  return std::move(builder).Finish(head.state);
}

std::optional<LedgerChange> ConflictOf(const LedgerHead& head, const BatchDraft& batch,
                                       const absl::Status& refusal, const Arrival& arrival) {
  const std::string reason = ReasonOf(refusal).reason;
  const bool tells =
      reason == "FENCED_OFF" || reason == "WRITER_CLOSED" || reason == "LEDGER_SEALED";
  if (head.first->has_import()) return std::nullopt;  // the original says what was released
  const std::optional<v1::WriterStatus> writer = head.writers.Find(batch.writer());
  if (!tells || !batch.tells_of_releases() || !writer.has_value() ||
      !events::IsNewConflict(batch.incarnation(), *writer)) {
    return std::nullopt;
  }
  ChangeBuilder builder(head, batch.writer(), batch.request_id(), arrival);
  if (!events::TakeCaller(arrival.caller, builder.writer()).ok()) return std::nullopt;
  events::TakeConflict(batch.incarnation(), builder.writer());
  v1::Conflict conflict;
  conflict.set_incarnation(batch.incarnation());
  conflict.set_reason(reason);
  if (!builder.Push(v1::LedgerEntry::kConflictFieldNumber, conflict).ok()) return std::nullopt;
  return std::move(builder).Finish(head.state);
}

absl::StatusOr<LedgerChange> Seal(const LedgerHead& head, const v1::SealLedgerRequest& request,
                                  const Arrival& arrival) {
  RETURN_IF_ERROR(CheckOpen(head));
  ASSIGN_OR_RETURN(const v1::Seal seal, SealBody(head, request));
  ChangeBuilder builder(head, "", request.request_id(), arrival);
  if (absl::Status pushed = builder.Push(v1::LedgerEntry::kSealFieldNumber, seal); !pushed.ok()) {
    return PrefixField("missing_writers", pushed);
  }
  return std::move(builder).Finish(v1::SEALED);
}

void Apply(const LedgerChange& change, LedgerHead& head) {
  head.tree = change.tree;
  head.last_recorded_time = change.recorded_time;
  head.state = change.state;
  head.writers.Put(change.writer);
}

v1::Ledger Describe(const LedgerHead& head, const WriterRange& writers) {
  v1::Ledger ledger;
  ledger.set_name(head.name);
  ledger.set_state(head.state);
  *ledger.mutable_declaration() = DeclarationOf(head);
  if (head.first->has_fork()) {
    *ledger.mutable_fork() = head.first->fork();
    ledger.mutable_fork()->clear_declaration();
  }
  if (head.first->has_import()) {
    *ledger.mutable_import() = head.first->import();
    ledger.mutable_import()->clear_declaration();
    ledger.mutable_import()->clear_checkpoint();
  }
  ledger.set_size(head.tree.size());
  ledger.set_root_hash(merkle::ToBytes(head.tree.Root()));
  *ledger.mutable_create_time() = ToProto(head.create_time);
  ledger.set_creator(head.first->caller());
  // All but the server itself, which never closes and is there from the first entry on.
  const size_t servers = head.writers.Find("").has_value() ? 1 : 0;
  ledger.set_writer_count(head.writers.size() - servers);
  ledger.set_open_writer_count(head.writers.open() - servers);
  for (auto it = head.writers.LowerBound(writers.from);
       it != head.writers.end() && static_cast<size_t>(ledger.writers_size()) < writers.limit;
       ++it) {
    v1::WriterStatus writer = *it;
    if (!writer.writer().empty()) *ledger.add_writers() = std::move(writer);
  }
  return ledger;
}

}  // namespace dpledger
