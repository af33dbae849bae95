#include "server/summaries/ledger_index.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "questions/spending.h"
#include "server/summaries/dataset_names.h"

namespace dpledger::server {
namespace {

constexpr double kNearlyFull = 0.8;
// Rows lie all over the memory: so many are fetched from it at a time.
constexpr size_t kAhead = 32;
// Of a ledger with more writers only so many are kept, which lists show.
constexpr size_t kListedWriters = 10;
// Of a ledger with more writers late entries are not looked for: it is counted in its turn.
constexpr size_t kMostAskedForLate = 1000;

std::shared_ptr<const LedgerHead> WithFewWriters(std::shared_ptr<const LedgerHead> head) {
  if (head->writers.size() <= kListedWriters + 1) return head;
  std::map<std::string, v1::WriterStatus> few;
  for (auto it = head->writers.begin(); few.size() <= kListedWriters; ++it) {
    const v1::WriterStatus writer = *it;
    few[writer.writer()] = writer;
  }
  auto copy = std::make_shared<LedgerHead>(*head);
  copy->writers = WriterMap(few);
  return copy;
}

// What the names of its ledgers begin with.
std::string PrefixOf(const std::string& parent) {
  return parent == "projects/-" ? "projects/" : absl::StrCat(parent, "/ledgers/");
}

}  // namespace

bool IsOf(const std::string& ledger, const std::string& parent) {
  return absl::StartsWith(ledger, PrefixOf(parent));
}

LedgerRow LedgerRow::Of(std::shared_ptr<const LedgerHead> head) {
  const size_t servers = head->writers.Find("").has_value() ? 1 : 0;
  LedgerRow row{.writers = static_cast<uint32_t>(head->writers.size() - servers),
                .open_writers = static_cast<uint32_t>(head->writers.open() - servers)};
  if (row.writers <= kMostAskedForLate) {
    for (const v1::WriterStatus& writer : head->writers) row.late_entries += writer.late_entries();
  }
  row.head = WithFewWriters(std::move(head));
  return row;
}

v1::Ledger LedgerRow::Described() const {
  v1::Ledger ledger = Describe(*head, {.limit = kListedWriters});
  ledger.set_writer_count(writers);
  ledger.set_open_writer_count(open_writers);
  return ledger;
}

void LedgerIndex::NoteSpending(const LedgerRow& row) {
  // Copies are of no budget of this server; of what is not known, the last that was stays.
  if (row.summary == nullptr || !row.summary->has_spending() || row.head->first->has_import())
    return;
  const v1::FilterSpending& spending = row.summary->spending();
  const std::string& name = row.name();
  if (row.declaration().kind() == v1::BUDGET) {
    if (row.state() == v1::OPEN && spending.bound() > 0 &&
        questions::ShareSpent(spending, spending.bound()) >= kNearlyFull) {
      nearly_full_.insert(name);
    } else {
      nearly_full_.erase(name);
    }
  }
  const std::string& budget = row.declaration().budget();
  if (budget.empty()) return;
  if (spending.crossed()) {
    overspent_[budget][name] = spending;
  } else if (const auto known = overspent_.find(budget); known != overspent_.end()) {
    known->second.erase(name);
    if (known->second.empty()) overspent_.erase(known);
  }
}

std::vector<v1::FilterSpending> LedgerIndex::Overspent(const std::string& budget) const {
  absl::ReaderMutexLock lock(&mutex_);
  std::vector<v1::FilterSpending> found;
  if (const auto known = overspent_.find(budget); known != overspent_.end()) {
    for (const auto& [ledger, spending] : known->second) found.push_back(spending);
  }
  return found;
}

size_t LedgerIndex::overspent() const {
  absl::ReaderMutexLock lock(&mutex_);
  size_t count = 0;
  for (const auto& [budget, ledgers] : overspent_) count += ledgers.size();
  return count;
}

size_t LedgerIndex::nearly_full() const {
  absl::ReaderMutexLock lock(&mutex_);
  return nearly_full_.size();
}

void LedgerIndex::Put(std::shared_ptr<LedgerRow> row) {
  NoteSpending(*row);
  row->change = ++changes_;
  const std::string_view name = row->name();
  auto place = rows_.find(name);
  if (place == rows_.end()) {
    place = rows_.emplace(name, std::move(row)).first;
  } else {
    by_change_.erase(place->second->change);
    const auto after = std::next(place);
    auto node = rows_.extract(place);
    node.key() = name;  // the old head may go
    node.mapped() = std::move(row);
    place = rows_.insert(after, std::move(node));
  }
  by_change_.emplace_hint(by_change_.end(), changes_, &place->second);
}

LedgerIndex::Datasets LedgerIndex::NearlyCalled(const std::string& dataset) const {
  absl::ReaderMutexLock lock(&mutex_);
  Datasets near;
  if (datasets_.contains(dataset)) return near;
  for (const std::string& other : datasets_) {
    if (AreNearlySame(other, dataset)) near[other];
  }
  if (near.empty()) return near;
  for (const auto& [name, row] : rows_) {
    const auto place = near.find(row->declaration().dataset());
    if (place != near.end()) place->second.push_back(row->name());
  }
  return near;
}

bool LedgerIndex::PutLedger(std::shared_ptr<const LedgerHead> head) {
  auto row = std::make_shared<LedgerRow>(LedgerRow::Of(std::move(head)));
  absl::MutexLock lock(&mutex_);
  if (const auto known = rows_.find(row->name()); known != rows_.end()) {
    if (row->size() <= known->second->size()) return false;
    row->summary = known->second->summary;
    row->has_uncounted_late =
        known->second->has_uncounted_late || row->late_entries > known->second->late_entries;
    row->number = known->second->number;
  } else {
    row->number = static_cast<uint32_t>(rows_.size());
    datasets_.insert(row->declaration().dataset());
  }
  Put(std::move(row));
  return true;
}

void LedgerIndex::PutSummary(std::shared_ptr<const v1::LedgerSummary> summary) {
  absl::MutexLock lock(&mutex_);
  const auto known = rows_.find(summary->ledger());
  if (known == rows_.end()) return;
  const auto& before = known->second->summary;
  if (before != nullptr && before->size() > summary->size()) return;
  auto row = std::make_shared<LedgerRow>(*known->second);
  row->has_uncounted_late = row->has_uncounted_late && summary->size() < row->size();
  row->summary = std::move(summary);
  Put(std::move(row));
}

void LedgerIndex::SetDamaged(std::vector<DamagedLedger> damaged) {
  absl::MutexLock lock(&mutex_);
  damaged_ = std::move(damaged);
}

std::vector<DamagedLedger> LedgerIndex::Damaged() const {
  absl::ReaderMutexLock lock(&mutex_);
  return damaged_;
}

std::shared_ptr<const LedgerRow> LedgerIndex::Find(const std::string& name) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = rows_.find(name);
  return found == rows_.end() ? nullptr : found->second;
}

LedgerRows LedgerIndex::Of(const std::string& parent, const std::string& after,
                           size_t limit) const {
  const std::string prefix = PrefixOf(parent);
  std::string beyond = prefix;
  ++beyond.back();
  if (after > beyond) return {};
  absl::ReaderMutexLock lock(&mutex_);
  const auto end = rows_.lower_bound(beyond);
  auto it = after < prefix ? rows_.lower_bound(prefix) : rows_.upper_bound(after);
  LedgerRows rows;
  auto ahead = it;
  for (size_t fetched = 0; it != end && rows.size() < limit; ++it) {
    for (; ahead != end && fetched < rows.size() + kAhead; ++ahead, ++fetched)
      __builtin_prefetch(ahead->second.get());
    rows.push_back(it->second);
  }
  return rows;
}

void FetchAhead(const LedgerRows& rows, size_t place) {
  if (place % kAhead != 0) return;
  const size_t end = std::min(rows.size(), place + kAhead);
  for (size_t i = place; i < end; ++i) {
    __builtin_prefetch(rows[i]->summary.get());
    __builtin_prefetch(rows[i]->head.get());
  }
  for (size_t i = place; i < end; ++i) {
    if (rows[i]->summary != nullptr) __builtin_prefetch(&rows[i]->summary->epsilon());
    __builtin_prefetch(rows[i]->head->first.get());
    __builtin_prefetch(rows[i]->name().data());
  }
}

LedgerRows LedgerIndex::Since(uint64_t seen, size_t limit, uint64_t& reached) const {
  absl::ReaderMutexLock lock(&mutex_);
  LedgerRows rows;
  auto it = by_change_.upper_bound(seen);
  for (; it != by_change_.end() && rows.size() < limit; ++it) rows.push_back(*it->second);
  reached = it == by_change_.end() ? changes_ : rows.empty() ? seen : rows.back()->change;
  return rows;
}

uint64_t LedgerIndex::changes() const {
  absl::ReaderMutexLock lock(&mutex_);
  return changes_;
}

void LedgerIndex::Listen(const std::weak_ptr<IndexListener>& listener) {
  absl::MutexLock lock(&mutex_);
  listeners_.push_back(listener);
}

void LedgerIndex::Tell() {
  absl::MutexLock telling(&telling_);
  std::vector<std::shared_ptr<IndexListener>> listeners;
  {
    absl::MutexLock lock(&mutex_);
    listeners_.erase(std::remove_if(listeners_.begin(), listeners_.end(),
                                    [&](const std::weak_ptr<IndexListener>& weak) {
                                      std::shared_ptr<IndexListener> listener = weak.lock();
                                      if (listener == nullptr) return true;
                                      listeners.push_back(std::move(listener));
                                      return false;
                                    }),
                     listeners_.end());
  }
  for (const auto& listener : listeners) listener->OnIndex();
}

}  // namespace dpledger::server
