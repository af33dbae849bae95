#include "ledger_store/embedded/commit_queue.h"

#include <utility>

namespace dpledger::embedded {

void CommitQueue::Push(QueuedOperation& operation, LedgerStore::AppendCallback* done) {
  absl::MutexLock lock(&mutex_);
  // What can fail comes first: once the queue has the operation, it has its callback too.
  if (waiting_.size() == waiting_.capacity()) waiting_.reserve(2 * waiting_.size() + 1);
  if (bytes_ + operation.bytes > max_bytes_) {
    operation.request = QueueFull(bytes_, max_bytes_, "the disk");
    operation.ahead.reset();
    operation.place.reset();
    operation.bytes = 0;
  }
  if (done != nullptr) operation.done = std::move(*done);
  bytes_ += operation.bytes;
  waiting_.push_back(std::move(operation));
}

bool CommitQueue::Take(std::vector<QueuedOperation>& taken) {
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !waiting_.empty() || (closed_ && unfinished_groups_ == 0);
  };
  absl::MutexLock lock(&mutex_, absl::Condition(&ready));
  TakeAll(taken);
  return !taken.empty();
}

bool CommitQueue::TakeWaiting(std::vector<QueuedOperation>& taken) {
  absl::MutexLock lock(&mutex_);
  TakeAll(taken);
  return !taken.empty();
}

void CommitQueue::TakeAll(std::vector<QueuedOperation>& taken) {
  taken.swap(waiting_);
  if (!taken.empty()) ++unfinished_groups_;
}

void CommitQueue::Release(size_t bytes) {
  absl::MutexLock lock(&mutex_);
  bytes_ -= bytes;
}

void CommitQueue::Finish() {
  absl::MutexLock lock(&mutex_);
  --unfinished_groups_;
}

size_t CommitQueue::bytes() const {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

void CommitQueue::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

}  // namespace dpledger::embedded
