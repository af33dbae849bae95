#include "ledger_store/postgres/commit_queue.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace dpledger::postgres {
namespace {

// A transaction of this size takes some ten milliseconds: more would save no syncs, and keep
// everybody in it waiting.
constexpr size_t kGroupBytes = 4 << 20;
constexpr size_t kGroupSize = 512;

}  // namespace

CommitQueue::Keys CommitQueue::KeysOf(const Operation& operation) {
  Keys keys(operation.ledgers.begin(), operation.ledgers.end());
  if (operation.line != nullptr) {
    // No ledger's name begins so.
    keys.insert(absl::StrCat("line ", reinterpret_cast<uintptr_t>(operation.line.get())));
  }
  return keys;
}

void CommitQueue::Push(Operation& operation, LedgerStore::AppendCallback* done) {
  absl::MutexLock lock(&mutex_);
  if (bytes_ + operation.bytes > max_bytes_) {
    operation.request = QueueFull(bytes_, max_bytes_, "the database");
    operation.bytes = 0;
  }
  waiting_.push_back(std::move(operation));
  // From here on there is memory for it.
  if (done != nullptr) waiting_.back().done = std::move(*done);
  bytes_ += waiting_.back().bytes;
  changed_.Signal();
}

CommitQueue::Group CommitQueue::Take() {
  absl::MutexLock lock(&mutex_);
  while (true) {
    Group group = TakeReady();
    if (!group.operations.empty()) return group;
    // Closed: what is held back by another thread's group is that thread's to take.
    if (closed_ && (waiting_.empty() || !busy_.empty())) return group;
    changed_.Wait(&mutex_);
  }
}

bool CommitQueue::IsBusy(const std::string& key) const {
  return std::any_of(busy_.begin(), busy_.end(),
                     [&key](const Keys* keys) { return keys->contains(key); });
}

CommitQueue::Group CommitQueue::TakeReady() {
  // Which ones, before anything is moved.
  Keys held;
  auto taken = std::make_unique<Keys>();
  std::vector<size_t> places;
  size_t bytes = 0;
  for (size_t i = 0; i < waiting_.size() && places.size() < kGroupSize && bytes < kGroupBytes;
       ++i) {
    Keys keys = KeysOf(waiting_[i]);
    const bool free = std::none_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return held.contains(key) || IsBusy(key);
    });
    if (free) {
      places.push_back(i);
      bytes += waiting_[i].bytes;
    }
    (free ? *taken : held).merge(keys);
  }
  Group group;
  if (places.empty()) return group;
  group.operations.reserve(places.size());
  busy_.push_back(taken.get());
  group.keys = std::move(taken);
  for (const size_t place : places) group.operations.push_back(std::move(waiting_[place]));
  // Close the gaps: from the first one on, what stays moves up.
  size_t next = places.front();
  for (size_t i = next, gap = 0; i < waiting_.size(); ++i) {
    if (gap < places.size() && places[gap] == i) {
      ++gap;
    } else {
      waiting_[next++] = std::move(waiting_[i]);
    }
  }
  waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(next), waiting_.end());
  return group;
}

void CommitQueue::Release(const Group& group) {
  absl::MutexLock lock(&mutex_);
  for (const Operation& operation : group.operations) bytes_ -= operation.bytes;
}

void CommitQueue::Finish(const Group& group) {
  absl::MutexLock lock(&mutex_);
  busy_.remove(group.keys.get());
  changed_.SignalAll();
}

size_t CommitQueue::bytes() const {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

void CommitQueue::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  changed_.SignalAll();
}

}  // namespace dpledger::postgres
