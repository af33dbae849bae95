#include "questions/history_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/declaration_rules.h"
#include "events/event_values.h"
#include "events/grant_rules.h"
#include "events/request_runs.h"
#include "events/writer_rules.h"

namespace dpledger::questions {
namespace {

// Limits import nesting (copies of copies); entry size alone would allow thousands.
constexpr size_t kMaxOriginals = 8;

// A sum query without a sample is over all records, of which nothing was drawn.
uint64_t StatedRounds(const v1::Event& event) {
  if (event.has_rounds()) return event.rounds().count();
  return event.has_sampling() && event.sampling().source() == v1::SAMPLE_STATED ? 1 : 0;
}

bool IsFirst(const v1::LedgerEntry& entry) {
  return entry.has_declaration() || entry.has_fork() || entry.has_import();
}

}  // namespace

// "entry 7", or "entry 7: the original's entry 6". Precondition: the logs above have taken theirs.
std::string HistoryReader::Place(size_t log, uint64_t sequence) const {
  std::string place;
  for (size_t i = 0; i <= log; ++i) {
    absl::StrAppend(&place, i == 0 ? "entry " : ": the original's entry ",
                    i < log ? logs_[i].taken - 1 : sequence);
  }
  return place;
}

absl::Status HistoryReader::Damaged(size_t log, uint64_t sequence, const std::string& what) const {
  return absl::DataLossError(absl::StrCat(Place(log, sequence), ": ", what));
}

absl::Status HistoryReader::NoAnalysis(size_t log, uint64_t sequence,
                                       const std::string& what) const {
  const uint64_t outermost = log == 0 ? sequence : logs_[0].taken - 1;
  return WithReason(absl::FailedPreconditionError(absl::StrCat(Place(log, sequence), ": ", what)),
                    {"NO_ANALYSIS", {{"sequence", absl::StrCat(outermost)}}});
}

absl::Status HistoryReader::Add(std::string_view bytes) {
  last_.resize(1);
  return AddTo(0, bytes);
}

// Entry 0. What a copy states of its original's declaration must be what the original declares:
// it says how the events are to be read.
absl::Status HistoryReader::Begin(size_t log, const v1::LedgerEntry& entry) {
  const v1::Declaration& declaration =
      entry.has_import() ? entry.import().declaration() : entry.declaration();
  if (log > 0 && entry.has_fork()) {
    return NoAnalysis(
        log, 0,
        absl::StrCat("a fork, whose cost includes the first ", entry.fork().parent_size(),
                     " entries of ", entry.fork().parent(), ", which are not in the copy"));
  }
  if (log > 0 && declaration.SerializeAsString() != logs_[log - 1].original_declaration) {
    return Damaged(log, 0, "declares something else than the import says of it");
  }
  v1::LedgerEntry& first = logs_[log].first;
  if (entry.has_fork()) *first.mutable_fork() = entry.fork();
  if (entry.has_declaration()) *first.mutable_declaration() = entry.declaration();
  if (!entry.has_import()) return absl::OkStatus();
  *first.mutable_import() = entry.import();
  if (log >= kMaxOriginals) {
    return NoAnalysis(log, 0, absl::StrCat("copies of copies are read down to ", kMaxOriginals));
  }
  logs_[log].is_copy = true;
  logs_[log].original_size = entry.import().size();
  logs_[log].original_root = entry.import().root_hash();
  logs_[log].original_declaration = declaration.SerializeAsString();
  logs_.resize(log + 2);
  return absl::OkStatus();
}

absl::Status HistoryReader::AddTo(size_t log, std::string_view bytes) {
  if (!last_[log].ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Damaged(log, logs_[log].taken, "its bytes are not that entry");
  }
  return TakeLast(log);
}

absl::Status HistoryReader::TakeLast(size_t log) {
  const uint64_t sequence = logs_[log].taken;
  const v1::LedgerEntry& entry = last_[log];
  if (entry.sequence() != sequence) {
    return Damaged(log, sequence, "its bytes are not that entry");
  }
  if (IsFirst(entry) != (sequence == 0)) {
    return Damaged(log, sequence,
                   sequence == 0 ? "is no declaration, fork or import"
                                 : "a declaration, fork or import can only be entry 0");
  }
  const bool begins =
      logs_[log].requests.Begins(entry.writer(), entry.request_id(), entry.body_case());
  if (const absl::Status caller = events::CheckCallerOf(entry.caller(), begins); !caller.ok()) {
    return Damaged(log, sequence, std::string(caller.message()));
  }
  ++logs_[log].taken;
  const std::string name = entry.writer();
  RETURN_IF_ERROR(TakeBody(log, entry));
  v1::WriterStatus& writer = logs_[log].writers[name];
  writer.set_entry_count(writer.entry_count() + 1);
  return absl::OkStatus();
}

absl::Status HistoryReader::TakeEvent(size_t log, const v1::LedgerEntry& entry,
                                      const v1::Event& event) {
  if (logs_[log].is_copy) return Damaged(log, entry.sequence(), "a copy has no events of its own");
  if (events::DeclarationOf(logs_[log].first).kind() == v1::BUDGET)
    return NoAnalysis(log, entry.sequence(), "a budget has no events");
  const absl::StatusOr<accountant::Event> value = events::ValueOf(event);
  if (!value.ok()) {
    return NoAnalysis(log, entry.sequence(), std::string(value.status().message()));
  }
  if (std::holds_alternative<accountant::Mechanism>(*value)) {
    mechanism_sequences_.push_back(logs_[0].taken - 1);
  }
  const uint64_t stated = StatedRounds(event);
  stated_rounds_ += std::min(stated, std::numeric_limits<uint64_t>::max() - stated_rounds_);
  v1::WriterStatus& writer = logs_[log].writers[entry.writer()];
  if (entry.has_late_event()) {
    if (logs_[log].sealed && !event.has_sampling()) logs_[log].seal.is_late = true;
    history_.Add(events::LateOwner(entry.late_event().incarnation(), writer), *value);
    events::TakeLateEvent(writer);
    return absl::OkStatus();
  }
  const std::string before = events::EpochOwner(writer);
  const absl::Status taken =
      events::TakeStoredRound(events::StepOf(event), entry.sequence(), writer);
  if (!taken.ok()) return Damaged(log, entry.sequence(), std::string(taken.message()));
  const std::string owner = events::EpochOwner(writer);
  if (owner != before) history_.End(before);
  history_.Add(owner, *value);
  return absl::OkStatus();
}

absl::Status HistoryReader::TakeOpened(size_t log, const v1::LedgerEntry& entry,
                                       v1::WriterStatus& writer) {
  history_.End(events::EpochOwner(writer));
  const absl::Status taken =
      events::TakeOpened(entry.opened(), entry.sequence(),
                         events::DeclarationOf(logs_[log].first).spool_policy(), writer);
  return taken.ok() ? taken : Damaged(log, entry.sequence(), std::string(taken.message()));
}

absl::Status HistoryReader::TakeGrant(size_t log, const v1::LedgerEntry& entry,
                                      const v1::BudgetGrant& grant) {
  const bool in_budget = events::DeclarationOf(logs_[log].first).kind() == v1::BUDGET;
  if (in_budget != entry.has_grant()) {
    return Damaged(log, entry.sequence(),
                   "a grant stands in a budget, and granted in a ledger that is none");
  }
  if (const absl::Status plan = events::CheckPlan(grant.plan()); !plan.ok()) {
    return NoAnalysis(log, entry.sequence(), std::string(plan.message()));
  }
  if (const absl::Status blocks = events::CheckBlocks(grant.blocks()); !blocks.ok()) {
    return Damaged(log, entry.sequence(), std::string(blocks.message()));
  }
  logs_[log].grants[grant.ledger()] = grant;
  return absl::OkStatus();
}

absl::Status HistoryReader::TakeRetired(size_t log, const v1::LedgerEntry& entry) {
  const auto& blocks = entry.retired_blocks().blocks();
  if (events::DeclarationOf(logs_[log].first).block_assignment().empty()) {
    return Damaged(log, entry.sequence(), "blocks are retired in a budget that has some");
  }
  if (const absl::Status checked = events::CheckBlocks(blocks); !checked.ok()) {
    return Damaged(log, entry.sequence(), std::string(checked.message()));
  }
  auto& retired = *logs_[log].retired.mutable_blocks();
  retired = events::UnionOf(retired, blocks);
  return absl::OkStatus();
}

absl::Status HistoryReader::TakeBody(size_t log, const v1::LedgerEntry& entry) {
  const uint64_t sequence = entry.sequence();
  v1::WriterStatus& writer = logs_[log].writers[entry.writer()];
  writer.set_writer(entry.writer());
  switch (entry.body_case()) {
    case v1::LedgerEntry::kEvent:
      return TakeEvent(log, entry, entry.event());
    case v1::LedgerEntry::kLateEvent:
      return TakeEvent(log, entry, entry.late_event().event());
    case v1::LedgerEntry::kImported: {
      if (!logs_[log].is_copy) return Damaged(log, sequence, "a copied entry in no copy");
      if (logs_[log + 1].taken >= logs_[log].original_size) {
        return Damaged(log, sequence, "more entries than the import says it copies");
      }
      // Takes its own copy of the bytes: last_ grows, and `entry` would move.
      const std::string copied = entry.imported().entry();
      last_.resize(log + 2);
      return AddTo(log + 1, copied);
    }
    case v1::LedgerEntry::kDeclaration:
    case v1::LedgerEntry::kFork:
    case v1::LedgerEntry::kImport:
      return Begin(log, entry);
    case v1::LedgerEntry::kOpened:
      return TakeOpened(log, entry, writer);
    case v1::LedgerEntry::kResume:
      history_.End(events::EpochOwner(writer));
      events::TakeResume(sequence, writer);
      return absl::OkStatus();
    case v1::LedgerEntry::kConflict:
      events::TakeConflict(entry.conflict().incarnation(), writer);
      return absl::OkStatus();
    case v1::LedgerEntry::kSpoolImported:
      history_.End(events::LateOwner(entry.spool_imported().incarnation(), writer));
      events::TakeSpoolImported(entry.spool_imported().incarnation(), sequence, writer);
      return absl::OkStatus();
    case v1::LedgerEntry::kWriterClosed:
      writer.set_closed(true);
      return absl::OkStatus();
    case v1::LedgerEntry::kSeal:
      logs_[log].sealed = true;
      logs_[log].seal.was_whole =
          entry.seal().missing_writers().empty() && entry.seal().missing_count() == 0;
      return absl::OkStatus();
    case v1::LedgerEntry::kCorrection:  // never lowers what was released
      logs_[log].corrections.push_back({sequence, entry.correction()});
      return absl::OkStatus();
    case v1::LedgerEntry::kGrant:
      return TakeGrant(log, entry, entry.grant());
    case v1::LedgerEntry::kGranted:
      return TakeGrant(log, entry, entry.granted());
    case v1::LedgerEntry::kRetiredBlocks:
      return TakeRetired(log, entry);
    case v1::LedgerEntry::kNote:
    case v1::LedgerEntry::kForkNotice:
    case v1::LedgerEntry::kKeyRotate:
      return absl::OkStatus();
    case v1::LedgerEntry::kRegistered:
    case v1::LedgerEntry::kMapRoot:
      return NoAnalysis(log, sequence, "a checkpoint belongs into the registry");
    case v1::LedgerEntry::BODY_NOT_SET:
      return NoAnalysis(log, sequence, "a kind of entry that this version does not know");
  }
  return absl::OkStatus();
}

HistoryReader::Original HistoryReader::OriginalAt(size_t i) const {
  return {logs_[i].original_size, logs_[i].original_root, logs_[i + 1].taken, logs_[i + 1].sealed};
}

std::string_view HistoryReader::CopiedEntry(size_t i) const {
  if (i + 1 >= last_.size()) return {};
  return last_[i].imported().entry();
}

absl::Status HistoryReader::CheckComplete() const {
  for (size_t i = 0; i < originals(); ++i) {
    const Original original = OriginalAt(i);
    if (original.taken >= original.size) continue;
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "holds ", original.taken, " of the ", original.size, " entries that ",
            i == 0 ? "it copies" : "its original copies", "; what the others cost is not known")),
        {"IMPORT_INCOMPLETE",
         {{"taken", absl::StrCat(original.taken)}, {"size", absl::StrCat(original.size)}}});
  }
  return absl::OkStatus();
}

HistoryReader HistoryReader::Resume(Parts parts) {
  HistoryReader reader;
  reader.history_ = std::move(parts.history);
  reader.mechanism_sequences_ = std::move(parts.mechanism_sequences);
  reader.stated_rounds_ = parts.stated_rounds;
  reader.logs_[0].taken = parts.size;
  reader.logs_[0].sealed = parts.sealed;
  reader.logs_[0].first = std::move(parts.first);
  if (parts.original.has_value()) {
    reader.logs_[0].is_copy = true;
    reader.logs_[0].original_size = parts.original->size;
    reader.logs_[0].original_root = parts.original->root_hash;
    reader.logs_.resize(2);
    reader.logs_[1].taken = parts.original->taken;
    reader.logs_[1].sealed = parts.original->sealed;
  }
  reader.logs_.back().writers = std::move(parts.writers);
  reader.logs_.back().corrections = std::move(parts.corrections);
  reader.logs_.back().grants = std::move(parts.grants);
  reader.logs_.back().retired = std::move(parts.retired);
  reader.logs_.back().seal = parts.seal;
  return reader;
}

}  // namespace dpledger::questions
