#include "server/history_cache.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/from_proto/event_from_proto.h"
#include "base/status.h"

namespace dpledger::server {
namespace {

constexpr size_t kReadEntries = 10'000;
constexpr size_t kReadBytes = size_t{1} << 20;

size_t BytesOf(const accountant::Mechanism& mechanism) {
  size_t bytes = sizeof(mechanism);
  const auto add = [&bytes](const std::vector<accountant::Mechanism>& parts) {
    for (const accountant::Mechanism& part : parts) bytes += BytesOf(part);
  };
  if (const auto* sampled = std::get_if<accountant::PoissonSampled>(&mechanism.kind))
    add(sampled->event);
  if (const auto* repeated = std::get_if<accountant::SelfComposed>(&mechanism.kind))
    add(repeated->event);
  if (const auto* composed = std::get_if<accountant::Composed>(&mechanism.kind))
    add(composed->events);
  return bytes;
}

size_t BytesOf(const accountant::History& history) {
  size_t bytes = sizeof(history);
  for (const auto& counted : history.Rounds()) {
    bytes += 2 * sizeof(counted);  // the round and its key
    for (const accountant::SumQuery& query : counted.round.queries)
      bytes += 2 * sizeof(query) + query.group.size();
  }
  for (const accountant::Mechanism& mechanism : history.Mechanisms()) bytes += BytesOf(mechanism);
  return bytes;
}

absl::Status NoAnalysis(uint64_t sequence, absl::string_view what) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat("entry ", sequence, ": ", what)),
                    {"NO_ANALYSIS", {{"sequence", absl::StrCat(sequence)}}});
}

absl::Status AddEntry(const std::string& bytes, LedgerHistory& into) {
  const uint64_t sequence = into.tree.size();
  v1::LedgerEntry entry;
  if (!entry.ParseFromString(bytes) || entry.sequence() != sequence) {
    return absl::DataLossError(absl::StrCat("entry ", sequence, ": its bytes are not that entry"));
  }
  into.tree.Append(merkle::LeafHash(bytes));
  switch (entry.body_case()) {
    case v1::LedgerEntry::kEvent: {
      const auto event = accountant::EventFromProto(entry.event());
      if (!event.ok()) return NoAnalysis(sequence, event.status().message());
      into.history.Add(entry.writer(), *event);
      return absl::OkStatus();
    }
    case v1::LedgerEntry::kDeclaration:
    case v1::LedgerEntry::kResume:
    case v1::LedgerEntry::kNote:
    case v1::LedgerEntry::kWriterClosed:
    case v1::LedgerEntry::kSeal:
    case v1::LedgerEntry::kCorrection:  // never lowers what was released
    case v1::LedgerEntry::kForkNotice:
    case v1::LedgerEntry::kKeyRotate:
      return absl::OkStatus();
    case v1::LedgerEntry::kFork:
      return NoAnalysis(sequence, "a fork of another ledger has no analysis yet");
    case v1::LedgerEntry::kImport:
    case v1::LedgerEntry::kImported:
      return NoAnalysis(sequence, "a copy of another ledger has no analysis yet");
    case v1::LedgerEntry::kRegistered:
      return NoAnalysis(sequence, "a checkpoint belongs into the registry");
    case v1::LedgerEntry::BODY_NOT_SET:
      return NoAnalysis(sequence, "a kind of entry that this version does not know");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const LedgerHistory>> HistoryCache::Read(
    const std::string& ledger, uint64_t size, const accountant::Limits& limits) {
  const std::shared_ptr<const LedgerHistory> known = Find(ledger, size);
  if (known != nullptr && known->tree.size() == size) return known;

  auto history = std::make_shared<LedgerHistory>(known != nullptr ? *known : LedgerHistory());
  uint64_t measure_at = 2 * history->tree.size() + kReadEntries;
  while (history->tree.size() < size) {
    RETURN_IF_ERROR(limits.Check());
    const uint64_t first = history->tree.size();
    ASSIGN_OR_RETURN(
        const std::vector<std::string> entries,
        store_->Read(ledger, first, std::min<uint64_t>(kReadEntries, size - first), kReadBytes));
    if (entries.empty()) {
      return absl::DataLossError(absl::StrCat(ledger, ": has no entry ", first, " of ", size));
    }
    for (const std::string& entry : entries) {
      if (absl::Status status = AddEntry(entry, *history); !status.ok()) {
        return WithReason(absl::Status(status.code(), absl::StrCat(ledger, ": ", status.message())),
                          ReasonOf(status));
      }
    }
    // Measuring walks the whole history, so it is done each time the history may have doubled.
    if (history->tree.size() < measure_at && history->tree.size() < size) continue;
    measure_at = 2 * history->tree.size();
    history->bytes = BytesOf(history->history);
    if (history->bytes > max_bytes_) {
      return WithReason(
          absl::ResourceExhaustedError(absl::StrCat(ledger, ": its first ", history->tree.size(),
                                                    " entries hold more than ", max_bytes_,
                                                    " bytes of distinct rounds and mechanisms")),
          {"HISTORY_TOO_LARGE", {}});
    }
  }
  Keep(ledger, history);
  return history;
}

std::shared_ptr<const LedgerHistory> HistoryCache::Find(const std::string& ledger, uint64_t size) {
  absl::MutexLock lock(&mutex_);
  const auto found = by_name_.find(ledger);
  if (found == by_name_.end() || found->second->second->tree.size() > size) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->second;
}

void HistoryCache::Keep(const std::string& ledger, std::shared_ptr<const LedgerHistory> history) {
  absl::MutexLock lock(&mutex_);
  const auto found = by_name_.find(ledger);
  if (found != by_name_.end()) {
    // A question about a prefix must not throw away what is known of the whole.
    if (found->second->second->tree.size() >= history->tree.size()) return;
    bytes_ -= found->second->second->bytes;
    recent_.erase(found->second);
    by_name_.erase(found);
  }
  bytes_ += history->bytes;
  recent_.emplace_front(ledger, std::move(history));
  by_name_[ledger] = recent_.begin();
  while (bytes_ > max_bytes_) {
    bytes_ -= recent_.back().second->bytes;
    by_name_.erase(recent_.back().first);
    recent_.pop_back();
  }
}

}  // namespace dpledger::server
