#include "accountant/from_proto/history_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/from_proto/event_from_proto.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// Copies of copies of copies. Each costs a few bytes of an entry's 65,535, so that there is no end
// to them but this.
constexpr size_t kMaxOriginals = 8;

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
  if (!entry.has_import()) return absl::OkStatus();
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
  const uint64_t sequence = logs_[log].taken;
  v1::LedgerEntry& entry = last_[log];
  if (!entry.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      entry.sequence() != sequence) {
    return Damaged(log, sequence, "its bytes are not that entry");
  }
  if (IsFirst(entry) != (sequence == 0)) {
    return Damaged(log, sequence,
                   sequence == 0 ? "is no declaration, fork or import"
                                 : "a declaration, fork or import can only be entry 0");
  }
  ++logs_[log].taken;
  logs_[log].sealed = entry.has_seal();
  switch (entry.body_case()) {
    case v1::LedgerEntry::kEvent: {
      if (logs_[log].is_copy) return Damaged(log, sequence, "a copy has no events of its own");
      auto event = EventFromProto(entry.event());
      if (!event.ok()) return NoAnalysis(log, sequence, std::string(event.status().message()));
      if (std::holds_alternative<Mechanism>(*event)) {
        mechanism_sequences_.push_back(logs_[0].taken - 1);
      }
      history_.Add(entry.writer(), *event);
      return absl::OkStatus();
    }
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
    case v1::LedgerEntry::kResume:
    case v1::LedgerEntry::kNote:
    case v1::LedgerEntry::kWriterClosed:
    case v1::LedgerEntry::kSeal:
    case v1::LedgerEntry::kCorrection:  // never lowers what was released
    case v1::LedgerEntry::kForkNotice:
    case v1::LedgerEntry::kKeyRotate:
      return absl::OkStatus();
    case v1::LedgerEntry::kRegistered:
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

HistoryReader HistoryReader::Resume(uint64_t size, History history,
                                    std::vector<uint64_t> mechanism_sequences,
                                    const Original* original) {
  HistoryReader reader;
  reader.logs_[0].taken = size;
  reader.history_ = std::move(history);
  reader.mechanism_sequences_ = std::move(mechanism_sequences);
  if (original != nullptr) {
    reader.logs_[0].is_copy = true;
    reader.logs_[0].original_size = original->size;
    reader.logs_[0].original_root = original->root_hash;
    reader.logs_.resize(2);
    reader.logs_[1].taken = original->taken;
    reader.logs_[1].sealed = original->sealed;
  }
  return reader;
}

}  // namespace dpledger::accountant
