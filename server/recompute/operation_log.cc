#include "server/recompute/operation_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "server/own_ledgers/note_log.h"
#include "server/own_ledgers/own_ledgers.h"

namespace dpledger::server {
namespace {

constexpr size_t kPageBytes = size_t{4} << 20;

}  // namespace

std::string OperationLedger(std::string_view id) {
  return absl::StrCat(ToAbsl(kRecomputationsProject), "/ledgers/", ToAbsl(id));
}

OperationLog::OperationLog(std::string id) : ledger_(OperationLedger(id)) {}

absl::Status OperationLog::Refresh(LedgerReader& store) {
  ASSIGN_OR_RETURN(const v1::Ledger ledger, store.Get(ledger_, kNoWriters));
  return store.ForEachEntry(ledger_, read_, ledger.size(), [this](const std::string& bytes) {
    const absl::Status taken = Take(read_, bytes);
    if (taken.ok()) ++read_;
    return taken;
  });
}

absl::Status OperationLog::Take(uint64_t sequence, const std::string& bytes) {
  v1::RecomputeNote note;
  RETURN_IF_ERROR(ReadNote(ledger_, sequence, bytes, note));
  if (begun_ && ended()) return absl::OkStatus();
  switch (note.note_case()) {
    case v1::RecomputeNote::kBegan:
      operation_ = std::move(*note.mutable_began()->mutable_operation());
      chunk_size_ = std::max<uint64_t>(1, note.began().chunk_size());
      begun_ = true;
      break;
    case v1::RecomputeNote::kLedgers:
      for (std::string& name : *note.mutable_ledgers()->mutable_names()) {
        names_.push_back(std::move(name));
      }
      break;
    case v1::RecomputeNote::kClaim: {
      Claims& claims = claims_[note.claim().chunk()];
      claims.last = note.claim();
      ++claims.count;
      break;
    }
    case v1::RecomputeNote::kChunk: {
      Stored& stored = stored_[note.chunk().chunk()];
      if (stored.notes == 0) {
        stored.first_sequence = sequence;
        if (note.chunk().results_size() > 0)
          stored.first_ledger = note.chunk().results(0).now().ledger();
      }
      ++stored.notes;
      for (const v1::Recomputed& result : note.chunk().results()) Count(result);
      break;
    }
    case v1::RecomputeNote::kEnded:
      operation_.set_state(note.ended().state());
      *operation_.mutable_end_time() = note.ended().end_time();
      names_.clear();
      names_.shrink_to_fit();
      claims_.clear();
      break;
    case v1::RecomputeNote::NOTE_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

void OperationLog::Count(const v1::Recomputed& result) {
  operation_.set_done(operation_.done() + 1);
  const v1::LedgerSummary& now = result.now();
  const v1::LedgerSummary& before = result.before();
  if (!now.has_epsilon()) {
    operation_.set_refused(operation_.refused() + 1);
  } else if (!before.has_epsilon() || before.size() != now.size()) {
    operation_.set_fresh(operation_.fresh() + 1);
  } else if (now.epsilon().upper() < before.epsilon().upper()) {
    operation_.set_lower(operation_.lower() + 1);
  } else if (now.epsilon().upper() > before.epsilon().upper()) {
    operation_.set_higher(operation_.higher() + 1);
  } else {
    operation_.set_unchanged(operation_.unchanged() + 1);
  }
}

uint64_t OperationLog::chunks() const {
  return (operation_.total() + chunk_size_ - 1) / chunk_size_;
}

std::vector<std::string> OperationLog::LedgersOf(uint64_t chunk) const {
  const size_t begin = std::min<size_t>(names_.size(), chunk * chunk_size_);
  const size_t end = std::min<size_t>(names_.size(), begin + chunk_size_);
  return {names_.begin() + static_cast<ptrdiff_t>(begin),
          names_.begin() + static_cast<ptrdiff_t>(end)};
}

const v1::RecomputeNote::Claim* OperationLog::ClaimOf(uint64_t chunk, uint64_t* count) const {
  const auto found = claims_.find(chunk);
  *count = found == claims_.end() ? 0 : found->second.count;
  return found == claims_.end() ? nullptr : &found->second.last;
}

absl::StatusOr<std::vector<v1::Recomputed>> OperationLog::Results(LedgerReader& store,
                                                                  uint64_t first, size_t limit,
                                                                  uint64_t* next) const {
  std::vector<v1::Recomputed> results;
  *next = 0;
  for (auto at = stored_.lower_bound(first / chunk_size_); at != stored_.end(); ++at) {
    uint64_t number = at->first * chunk_size_;
    uint64_t sequence = at->second.first_sequence;
    const uint64_t end = sequence + at->second.notes;
    while (sequence < end) {
      ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                       store.Read(ledger_, sequence, end - sequence, kPageBytes));
      if (entries.empty()) return absl::DataLossError(absl::StrCat(ledger_, ": has lost entries"));
      for (const std::string& bytes : entries) {
        v1::RecomputeNote note;
        RETURN_IF_ERROR(ReadNote(ledger_, sequence++, bytes, note));
        for (v1::Recomputed& result : *note.mutable_chunk()->mutable_results()) {
          if (number++ < first) continue;
          if (results.size() == limit) {
            *next = number - 1;
            return results;
          }
          results.push_back(std::move(result));
        }
      }
    }
  }
  return results;
}

absl::StatusOr<std::optional<v1::Recomputed>> OperationLog::ResultOf(
    LedgerReader& store, const std::string& ledger) const {
  // Ledgers stand in the order of their names: it is in the last chunk that does not begin behind
  // it, or nowhere. (An operation has at most 1,000 chunks.)
  uint64_t first = 0;
  bool found = false;
  for (const auto& [chunk, stored] : stored_) {
    if (stored.first_ledger > ledger) break;
    first = chunk * chunk_size_;
    found = true;
  }
  if (!found) return std::optional<v1::Recomputed>();
  uint64_t next = 0;
  ASSIGN_OR_RETURN(std::vector<v1::Recomputed> results, Results(store, first, chunk_size_, &next));
  for (v1::Recomputed& result : results) {
    if (result.now().ledger() == ledger) return std::optional<v1::Recomputed>(std::move(result));
  }
  return std::optional<v1::Recomputed>();
}

}  // namespace dpledger::server
