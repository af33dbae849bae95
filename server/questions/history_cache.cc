#include "server/questions/history_cache.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "server/questions/stored_history.h"

namespace dpledger::server {
namespace {

// A new table is written once it saves reading this many entries, and this share of the ledger: so
// all tables of a growing ledger together cost a few times the last one.
constexpr uint64_t kTableEntries = 10'000;
constexpr uint64_t kTableShare = 8;

}  // namespace

absl::StatusOr<HistoryCache::HistoryPointer> HistoryCache::Read(const v1::Ledger& ledger,
                                                                uint64_t size,
                                                                const std::string& root,
                                                                const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(HistoryPointer history, Gather(ledger, size, root, limits));
  RETURN_IF_ERROR(CheckDeclared(ledger, *history));
  return history;
}

absl::StatusOr<HistoryCache::HistoryPointer> HistoryCache::Gather(
    const v1::Ledger& ledger, uint64_t size, const std::string& root,
    const accountant::Limits& limits) {
  if (HistoryPointer known = Find(ledger.name(), size); known != nullptr) {
    return ReadFrom(known, /*is_table=*/false, ledger, size, root, limits);
  }
  const HistoryPointer table = LoadTable(ledger, size);
  if (table == nullptr || size == ledger.size() || !root.empty()) {
    return ReadFrom(table, table != nullptr, ledger, size, root, limits);
  }
  // Nothing confirms the table but the whole ledger's root; it is known from then on.
  RETURN_IF_ERROR(ReadFrom(table, /*is_table=*/true, ledger, ledger.size(), "", limits).status());
  return ReadFrom(Find(ledger.name(), size), /*is_table=*/false, ledger, size, root, limits);
}

absl::StatusOr<HistoryCache::HistoryPointer> HistoryCache::ReadFrom(
    HistoryPointer known, bool is_table, const v1::Ledger& ledger, uint64_t size,
    const std::string& asked_root, const accountant::Limits& limits) {
  const bool whole = size == ledger.size();
  const std::string& root = whole ? ledger.root_hash() : asked_root;
  while (true) {
    HistoryPointer history = known;
    std::shared_ptr<LedgerHistory> grown;
    if (known == nullptr || known->tree.size() < size) {
      absl::StatusOr<std::shared_ptr<LedgerHistory>> read =
          CarryOn(ledger.name(), known, is_table, size, limits);
      // After a failover that took back what nobody was told of, the entries need not follow those
      // that are known.
      if (!read.ok() && (known == nullptr || !absl::IsDataLoss(read.status()))) {
        return read.status();
      }
      history = grown = read.ok() ? *std::move(read) : nullptr;
    }
    if (history != nullptr && (root.empty() || merkle::ToBytes(history->tree.Root()) == root)) {
      if (is_table) Keep(ledger.name(), /*whole=*/false, known);
      if (whole && grown != nullptr) StoreTable(ledger.name(), *grown);
      Keep(ledger.name(), whole, history);
      return history;
    }
    if (known == nullptr) {
      return absl::DataLossError(absl::StrCat(ledger.name(), ": its ", whole ? "" : "first ", size,
                                              " entries do not have the ", whole ? "ledger's " : "",
                                              "root hash", whole ? "" : " that they must have"));
    }
    if (is_table) {
      LogDropped(ledger.name(),
                 absl::DataLossError(history == nullptr ? "the entries do not follow it"
                                                        : "leads to another root hash"));
    }
    Forget(ledger.name());
    known = nullptr;
    is_table = false;
  }
}

absl::StatusOr<std::shared_ptr<LedgerHistory>> HistoryCache::CarryOn(
    const std::string& ledger, const HistoryPointer& known, bool is_table, uint64_t size,
    const accountant::Limits& limits) {
  auto history = known != nullptr ? std::make_shared<LedgerHistory>(*known)
                                  : std::make_shared<LedgerHistory>();
  const absl::Status read = ReadOn(*store_, ledger, size, max_bytes_, limits, *history);
  if (read.ok()) return history;
  const bool stopped = absl::IsDeadlineExceeded(read) || absl::IsCancelled(read);
  // What rests on a table is not kept before the table is confirmed.
  if (stopped && !is_table && history->tree.size() > 0) {
    history->bytes = BytesOf(*history);
    Keep(ledger, /*whole=*/true, std::move(history));
  }
  return read;
}

HistoryCache::HistoryPointer HistoryCache::LoadTable(const v1::Ledger& ledger, uint64_t size) {
  if (tables_.key == nullptr) return nullptr;
  const absl::StatusOr<v1::StoredHistory> table = store_->GetHistory(ledger.name());
  if (!table.ok()) {
    if (absl::IsDataLoss(table.status())) LogDropped(ledger.name(), table.status());
    return nullptr;
  }
  if (table->size() > size && table->size() <= ledger.size()) return nullptr;
  absl::StatusOr<LedgerHistory> history = FromStored(*store_, ledger, *tables_.key, *table);
  if (!history.ok()) {
    LogDropped(ledger.name(), history.status());
    return nullptr;
  }
  if (history->bytes > max_bytes_) return nullptr;
  return std::make_shared<const LedgerHistory>(*std::move(history));
}

void HistoryCache::LogDropped(const std::string& ledger, const absl::Status& why) const {
  if (tables_.log == nullptr) return;
  tables_.log->Write(LogLevel::kWarning, "history_table_dropped",
                     {{"ledger", ledger}, {"message", std::string(why.message())}});
}

void HistoryCache::StoreTable(const std::string& ledger, LedgerHistory& history) {
  const uint64_t grown = history.tree.size() - history.table_size;
  if (tables_.key == nullptr) return;
  if (grown <= kTableEntries || grown <= history.tree.size() / kTableShare) return;
  std::optional<v1::StoredHistory> table = ToStored(history);
  // Whether it is kept or not, the next try is as much work away.
  history.table_size = history.tree.size();
  if (!table.has_value()) return;
  Authenticate(*tables_.key, ledger, *table);
  store_->PutHistory(ledger, *table).IgnoreError();
}

HistoryCache::HistoryPointer HistoryCache::Find(const std::string& ledger, uint64_t size) {
  absl::MutexLock lock(&mutex_);
  auto found = by_size_.upper_bound({ledger, size});
  if (found == by_size_.begin()) return nullptr;
  --found;
  if (found->first.first != ledger) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->history;
}

void HistoryCache::Keep(const std::string& ledger, bool whole, HistoryPointer history) {
  absl::MutexLock lock(&mutex_);
  const uint64_t size = history->tree.size();
  const auto same = by_size_.find({ledger, size});
  if (same != by_size_.end()) {
    same->second->whole = same->second->whole && whole;
    return;
  }
  if (whole) {
    const auto [last, is_new] = whole_.try_emplace(ledger, size);
    if (!is_new && last->second < size) {
      const auto replaced = by_size_.find({ledger, last->second});
      if (replaced != by_size_.end() && replaced->second->whole) Erase(replaced->second);
      whole_[ledger] = size;
    }
  }
  bytes_ += history->bytes;
  recent_.push_front({ledger, whole, std::move(history)});
  by_size_[{ledger, size}] = recent_.begin();
  while (bytes_ > max_bytes_) Erase(std::prev(recent_.end()));
}

void HistoryCache::Forget(const std::string& ledger) {
  absl::MutexLock lock(&mutex_);
  for (auto point = by_size_.lower_bound({ledger, 0});
       point != by_size_.end() && point->first.first == ledger;) {
    Erase((point++)->second);
  }
}

void HistoryCache::Erase(std::list<Point>::iterator point) {
  const auto whole = whole_.find(point->ledger);
  if (whole != whole_.end() && whole->second == point->history->tree.size()) whole_.erase(whole);
  bytes_ -= point->history->bytes;
  by_size_.erase({point->ledger, point->history->tree.size()});
  recent_.erase(point);
}

}  // namespace dpledger::server
