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

void CommitQueue::Push(Operation operation) {
  absl::MutexLock lock(&mutex_);
  if (bytes_ + operation.bytes > max_bytes_) {
    operation.request = QueueFull(bytes_, max_bytes_, "the database");
    operation.bytes = 0;
  }
  bytes_ += operation.bytes;
  waiting_.push_back(std::move(operation));
  changed_.Signal();
}

std::vector<Operation> CommitQueue::Take() {
  absl::MutexLock lock(&mutex_);
  while (true) {
    std::vector<Operation> group = TakeReady();
    if (!group.empty()) return group;
    // Closed: what is held back by another thread's group is that thread's to take.
    if (closed_ && (waiting_.empty() || !busy_.empty())) return group;
    changed_.Wait(&mutex_);
  }
}

std::vector<Operation> CommitQueue::TakeReady() {
  std::vector<Operation> group;
  Keys held = busy_;
  Keys taken;
  std::deque<Operation> left;
  size_t bytes = 0;
  bool full = false;
  for (Operation& operation : waiting_) {
    const Keys keys = KeysOf(operation);
    const bool free = std::none_of(keys.begin(), keys.end(),
                                   [&held](const std::string& key) { return held.contains(key); });
    full = full || group.size() >= kGroupSize || bytes >= kGroupBytes;
    if (full || !free) {
      held.insert(keys.begin(), keys.end());
      left.push_back(std::move(operation));
      continue;
    }
    taken.insert(keys.begin(), keys.end());
    bytes += operation.bytes;
    group.push_back(std::move(operation));
  }
  waiting_.swap(left);
  busy_.merge(taken);
  return group;
}

void CommitQueue::Release(const std::vector<Operation>& group) {
  absl::MutexLock lock(&mutex_);
  for (const Operation& operation : group) bytes_ -= operation.bytes;
}

void CommitQueue::Finish(const std::vector<Operation>& group) {
  absl::MutexLock lock(&mutex_);
  for (const Operation& operation : group) {
    for (const std::string& key : KeysOf(operation)) busy_.erase(key);
  }
  changed_.SignalAll();
}

void CommitQueue::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  changed_.SignalAll();
}

}  // namespace dpledger::postgres
