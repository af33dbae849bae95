#include "ledger_store/bundle/ledger_rules.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/declaration_rules.h"
#include "events/grant_rules.h"
#include "events/names.h"
#include "events/seal_rules.h"
#include "events/writer_rules.h"
#include "ledger_store/bundle/difference.h"
#include "merkle/checkpoint.h"
#include "merkle/tile.h"

namespace dpledger::bundle {
namespace {

using v1::LedgerEntry;

constexpr int kMaxDepth = 8;  // copies of copies

// A message that stands once in a ledger, or seldom: the whole of it is built. Its bytes must be
// those that it is serialised to, so that nothing in it goes unread.
template <typename Message>
bool Parse(std::string_view bytes, Message& message) {
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  message.DiscardUnknownFields();
  return message.SerializeAsString() == bytes;
}

// The body of an entry.
template <typename Message>
absl::StatusOr<Message> BodyOf(const EntryFrame& frame) {
  Message message;
  if (Parse(frame.body_bytes, message)) return message;
  return absl::InvalidArgumentError(
      absl::StrCat("its ", LedgerEntry::descriptor()->FindFieldByNumber(frame.body)->name(),
                   " must be well-formed"));
}

bool IsLate(int body) {
  return body == LedgerEntry::kConflict || body == LedgerEntry::kLateEvent ||
         body == LedgerEntry::kSpoolImported;
}

// The value of a message's only field, a varint: WriterClosed and the like. 0 for an empty message,
// nothing for anything else.
std::optional<uint64_t> OnlyNumber(std::string_view message) {
  WireReader reader(message);
  const std::optional<WireField> field = reader.Next();
  if (!field.has_value()) return reader.ok() ? std::optional<uint64_t>(0) : std::nullopt;
  if (field->number != 1 || field->is_bytes || reader.Next().has_value() || !reader.ok()) return {};
  return field->value;
}

}  // namespace

absl::Status LedgerRules::Wrong(std::string_view rule) const {
  return Differs(kEntryClass, Where(size_), rule);
}

absl::Status LedgerRules::Wrong(std::string_view field, uint64_t expected, uint64_t found) const {
  return Differs(kEntryClass, absl::StrCat(Where(size_), ", ", ToAbsl(field)),
                 absl::StrCat(expected), absl::StrCat(found));
}

std::string LedgerRules::Where(uint64_t sequence) const {
  return absl::StrCat(where_prefix_, "entry ", sequence);
}

std::optional<v1::WriterStatus> LedgerRules::StatusOf(std::string_view writer) const {
  const auto found = writers_.find(writer);
  if (found == writers_.end()) return std::nullopt;
  return found->second;
}

absl::Status LedgerRules::Wrong(const absl::Status& broken) const {
  return broken.ok() ? broken : Wrong(FromAbsl(broken.message()));
}

const v1::Declaration& LedgerRules::declaration() const { return events::DeclarationOf(first_); }

bool LedgerRules::complete() const {
  return original_ == nullptr ||
         (original_->size() == first_.import().size() && original_->complete());
}

absl::Status LedgerRules::Add(std::string_view entry) {
  const absl::StatusOr<EntryFrame> frame = ParseEntryFrame(entry);
  if (!frame.ok()) return Wrong(frame.status());
  if (last_writer_ == nullptr || last_writer_->first != frame->writer) {
    auto found = writers_.find(frame->writer);
    if (found == writers_.end()) {
      if (writers_.size() == events::kMostWriters)
        return Wrong("a ledger has at most 2^20 writers");
      found = writers_.try_emplace(std::string(frame->writer)).first;
      found->second.set_writer(found->first);
    }
    last_writer_ = &*found;
  }
  v1::WriterStatus& writer = last_writer_->second;
  RETURN_IF_ERROR(CheckFrame(*frame, writer));
  RETURN_IF_ERROR(CheckCaller(*frame, writer));
  absl::Status added = size_ == 0 ? AddFirst(*frame) : AddBody(*frame, writer);
  if (!added.ok()) return added;
  writer.set_entry_count(writer.entry_count() + 1);
  ++size_;
  return entries_ == nullptr || !*entries_ ? absl::OkStatus() : (*entries_)(entry);
}

absl::Status LedgerRules::CheckFrame(const EntryFrame& frame, v1::WriterStatus& writer) {
  const bool late = IsLate(frame.body);
  if (sealed_ && !late) return Wrong("nothing but conflicts and late entries may follow SEAL");
  if (frame.sequence != size_) return Wrong("sequence", size_, frame.sequence);
  if (frame.writer_counter != writer.entry_count()) {
    return Wrong("writer_counter", writer.entry_count(), frame.writer_counter);
  }
  if (writer.closed() && !late) return Wrong("its writer has closed, and may write nothing more");
  if (size_ > 0 && frame.recorded_seconds < recorded_seconds_) {
    return Wrong(absl::StrCat("recorded_time must not go back, found ", frame.recorded_seconds,
                              " s after ", recorded_seconds_, " s"));
  }
  recorded_seconds_ = frame.recorded_seconds;
  const bool servers = frame.body == LedgerEntry::kDeclaration ||
                       frame.body == LedgerEntry::kFork || frame.body == LedgerEntry::kImport ||
                       frame.body == LedgerEntry::kForkNotice || frame.body == LedgerEntry::kSeal ||
                       frame.body == LedgerEntry::kGrant || frame.body == LedgerEntry::kGranted;
  if (frame.writer.empty() != servers) {
    return Wrong(
        "declaration, fork, import, fork_notice, seal, grant and granted, and nothing else, are "
        "the server's own and have no writer");
  }
  return absl::OkStatus();
}

absl::Status LedgerRules::CheckCaller(const EntryFrame& frame, v1::WriterStatus& writer) {
  const bool begins = requests_.Begins(frame.writer, frame.request_id, frame.body);
  absl::Status status = events::CheckCallerOf(frame.caller, begins);
  if (status.ok() && !frame.writer.empty()) status = events::TakeCaller(frame.caller, writer);
  return Wrong(status);
}

absl::Status LedgerRules::AddFirst(const EntryFrame& frame) {
  bool parsed = false;
  switch (frame.body) {
    case LedgerEntry::kDeclaration:
      parsed = Parse(frame.body_bytes, *first_.mutable_declaration());
      break;
    case LedgerEntry::kFork: {
      v1::Fork& fork = *first_.mutable_fork();
      parsed = Parse(frame.body_bytes, fork) && fork.has_declaration() && !fork.parent().empty() &&
               fork.parent_size() > 0 && fork.parent_root().size() == merkle::kHashBytes;
      break;
    }
    case LedgerEntry::kImport: {
      v1::Import& import = *first_.mutable_import();
      parsed = Parse(frame.body_bytes, import) && import.has_declaration() &&
               !import.origin().empty() && import.size() > 0 &&
               import.root_hash().size() == merkle::kHashBytes;
      if (parsed) return BeginOriginal();
      break;
    }
    default:
      return Wrong("a ledger must begin with a declaration, a fork or an import");
  }
  if (parsed) return absl::OkStatus();
  return Wrong("its body must be well-formed, with a declaration and all that names its origin");
}

absl::Status LedgerRules::BeginOriginal() {
  if (depth_ == kMaxDepth) return Wrong("copies of copies may be 8 deep");
  original_.reset(new LedgerRules(absl::StrCat(where_prefix_, "original "), depth_ + 1));
  // Whoever signed it: the checkpoint must be the one that the import speaks of.
  const v1::Import& import = first_.import();
  if (merkle::StatesTree(import.checkpoint(), import.origin(), import.size(), import.root_hash())) {
    return absl::OkStatus();
  }
  return Differs(kImportClass, Where(size_),
                 "the import's checkpoint must be a signed note of its origin, size and root");
}

absl::Status LedgerRules::AddBody(const EntryFrame& frame, v1::WriterStatus& writer) {
  const bool copied = frame.body == LedgerEntry::kImported;
  const bool anywhere = frame.body == LedgerEntry::kWriterClosed ||
                        frame.body == LedgerEntry::kForkNotice || frame.body == LedgerEntry::kSeal;
  if (copied != (original_ != nullptr) && !anywhere) {
    return Wrong("imported entries, and but for the ends nothing else, stand in a copy");
  }
  switch (frame.body) {
    case LedgerEntry::kEvent:
      return AddEvent(frame, writer);
    case LedgerEntry::kImported:
      return AddImported(frame);
    case LedgerEntry::kWriterClosed: {
      const std::optional<uint64_t> count = OnlyNumber(frame.body_bytes);
      if (!count.has_value()) return Wrong("its writer_closed must be well-formed");
      return Wrong(events::TakeClosed(*count, writer));
    }
    case LedgerEntry::kSeal:
      return AddSeal(frame);
    case LedgerEntry::kForkNotice:
      return AddForkNotice(frame);
    case LedgerEntry::kGrant:
    case LedgerEntry::kGranted:
      return AddGrant(frame);
    case LedgerEntry::kRetiredBlocks: {
      v1::RetiredBlocks retired;
      if (!Parse(frame.body_bytes, retired) || retired.blocks().empty() ||
          !events::CheckBlocks(retired.blocks()).ok()) {
        return Wrong("its retired_blocks must be well-formed, and name blocks");
      }
      if (!declaration().block_assignment().empty()) return absl::OkStatus();
      return Wrong("blocks are retired in a budget that has some");
    }
    case LedgerEntry::kCorrection: {
      const auto correction = BodyOf<v1::Correction>(frame);
      if (!correction.ok()) return Wrong(correction.status());
      if (correction->corrected_sequence() < size_) return absl::OkStatus();
      return Wrong(absl::StrCat("a correction must be of an earlier entry, found ",
                                correction->corrected_sequence()));
    }
    case LedgerEntry::kResume:
      events::TakeResume(size_, writer);
      return Wrong(BodyOf<v1::Resume>(frame).status());
    case LedgerEntry::kOpened: {
      const auto opened = BodyOf<v1::Opened>(frame);
      if (!opened.ok()) return Wrong(opened.status());
      return Wrong(events::TakeOpened(*opened, size_, declaration().spool_policy(), writer));
    }
    case LedgerEntry::kConflict:
    case LedgerEntry::kLateEvent:
    case LedgerEntry::kSpoolImported:
      return AddLate(frame, writer);
    case LedgerEntry::kNote:
      return Wrong(BodyOf<v1::Note>(frame).status());
    default:
      return Wrong(
          "a declaration, fork or import stands at 0 only, and key_rotate, registered and map_root "
          "in the registry");
  }
}

absl::Status LedgerRules::AddEvent(const EntryFrame& frame, v1::WriterStatus& writer) {
  const absl::StatusOr<std::optional<EventRound>> event = ParseEventRound(frame.body_bytes);
  if (!event.ok()) return Wrong(event.status());
  if (!event->has_value()) return absl::OkStatus();
  events::RoundStep step{
      (*event)->sampling ? events::RoundStep::Kind::kOpens : events::RoundStep::Kind::kJoins,
      (*event)->round};
  v1::Event whole;  // seldom needed, and slower to read
  if ((*event)->by_epoch) {
    // What cannot be read is the accountant's to judge.
    if (Parse(frame.body_bytes, whole)) step = events::StepOf(whole);
  }
  return Wrong(events::TakeStoredRound(step, size_, writer));
}

// LATE_EVENT and CONFLICT: the writer must have entries already.
absl::Status LedgerRules::AddLate(const EntryFrame& frame, v1::WriterStatus& writer) {
  if (writer.entry_count() == 0) return Wrong("late entries are of a writer that has written");
  if (frame.body == LedgerEntry::kConflict) {
    const auto conflict = BodyOf<v1::Conflict>(frame);
    if (!conflict.ok()) return Wrong(conflict.status());
    events::TakeConflict(conflict->incarnation(), writer);
  } else if (frame.body == LedgerEntry::kLateEvent) {
    std::string_view incarnation, event;
    WireReader reader(frame.body_bytes);
    while (const std::optional<WireField> field = reader.Next()) {
      if (field->number > 2 || !field->is_bytes) return Wrong("its late_event must be well-formed");
      (field->number == 1 ? incarnation : event) = field->bytes;
    }
    if (!reader.ok() || (!incarnation.empty() && !events::IsToken(incarnation)) ||
        !ParseEventRound(event).ok()) {
      return Wrong("its late_event must be well-formed");
    }
    events::TakeLateEvent(writer);
  } else {
    const auto imported = BodyOf<v1::SpoolImported>(frame);
    if (!imported.ok()) return Wrong(imported.status());
    events::TakeSpoolImported(imported->incarnation(), size_, writer);
  }
  return absl::OkStatus();
}

absl::Status LedgerRules::AddSeal(const EntryFrame& frame) {
  const auto seal = BodyOf<v1::Seal>(frame);
  if (!seal.ok()) return Wrong(seal.status());
  sealed_ = true;
  if (events::CountsMissing(*seal)) {
    std::vector<std::string_view> open;
    for (const auto& [name, writer] : writers_) {
      if (!name.empty() && !writer.closed()) open.push_back(name);
    }
    return Wrong(events::CheckCountedMissing(*seal, open));
  }
  const std::set<std::string> missing(seal->missing_writers().begin(),
                                      seal->missing_writers().end());
  for (const auto& [name, writer] : writers_) {
    if (name.empty() || writer.closed() != missing.contains(name)) continue;
    return Wrong(absl::StrCat("a seal must name the writers that have not closed, and no other: ",
                              Quoted(name)));
  }
  return absl::OkStatus();
}

absl::Status LedgerRules::AddForkNotice(const EntryFrame& frame) {
  v1::ForkNotice notice;
  if (!Parse(frame.body_bytes, notice) || notice.child().empty()) {
    return Wrong("its fork_notice must be well-formed, and name the child");
  }
  if (notice.size() >= 1 && notice.size() <= size_) return absl::OkStatus();
  return Wrong(absl::StrCat("a fork_notice must be of a prefix of 1..", size_, " entries, found ",
                            notice.size()));
}

// Whether the plan fits is the accountant's to judge.
absl::Status LedgerRules::AddGrant(const EntryFrame& frame) {
  v1::BudgetGrant grant;
  bool good = Parse(frame.body_bytes, grant) && !grant.budget().empty() &&
              !grant.ledger().empty() && events::CheckBlocks(grant.blocks()).ok();
  for (const v1::Event& event : grant.plan()) {
    good = good && ParseEventRound(event.SerializeAsString()).ok();
  }
  if (!good) return Wrong("its grant must be well-formed, and name the budget and the ledger");
  const bool in_budget = declaration().kind() == v1::BUDGET;
  if (in_budget != (frame.body == LedgerEntry::kGrant)) {
    return Wrong("a grant stands in a budget, and granted in a ledger that is none");
  }
  if (in_budget && grant.blocks_size() > 0 && declaration().block_assignment().empty()) {
    return Wrong("a grant must name no blocks of a budget without any");
  }
  if (!in_budget && !events::SameBlocks(grant, declaration())) {
    return Wrong("granted must be of the blocks that the ledger declares");
  }
  if (in_budget || grant.budget() == declaration().budget()) return absl::OkStatus();
  return Wrong(absl::StrCat("granted must be of the budget that the ledger declares, ",
                            Quoted(declaration().budget()), ", found ", Quoted(grant.budget())));
}

absl::Status LedgerRules::AddImported(const EntryFrame& frame) {
  WireReader reader(frame.body_bytes);
  const std::optional<WireField> field = reader.Next();
  if (!field.has_value() || field->number != 1 || !field->is_bytes || field->bytes.empty() ||
      reader.Next().has_value() || !reader.ok()) {
    return Wrong("its imported must be well-formed");
  }
  const v1::Import& import = first_.import();
  if (original_->size() == import.size()) {
    return Wrong(absl::StrCat("no more than the ", import.size(),
                              " entries that the import declares may be copied"));
  }
  if (absl::Status added = original_->Add(field->bytes); !added.ok()) return added;
  original_tree_.Append(merkle::LeafHash(field->bytes));
  // It says how the events are to be read.
  if (original_->size() == 1 &&
      original_->declaration().SerializeAsString() != import.declaration().SerializeAsString()) {
    return Differs(kImportClass, Where(size_),
                   "the original must declare what the import says that it declares");
  }
  if (original_->size() < import.size() ||
      merkle::ToBytes(original_tree_.Root()) == import.root_hash()) {
    return absl::OkStatus();
  }
  return Differs(kImportClass, Where(size_),
                 "the copied entries do not have the root that the import declares");
}

}  // namespace dpledger::bundle
