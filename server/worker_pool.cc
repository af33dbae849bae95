#include "server/worker_pool.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::server {

WorkerPool::WorkerPool(std::string name, size_t threads, size_t max_queued)
    : name_(std::move(name)), max_queued_(max_queued) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkerPool::~WorkerPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status WorkerPool::Submit(std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  if (queue_.size() >= max_queued_) {
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                          name_, ": ", queue_.size(), " calls wait already; try again later")),
                      {"OVERLOADED", {}});
  }
  queue_.push_back(std::move(task));
  return absl::OkStatus();
}

void WorkerPool::Run() {
  while (true) {
    std::function<void()> task;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](WorkerPool* pool) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool->mutex_) {
            return pool->stopping_ || !pool->queue_.empty();
          },
          this));
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    task();
  }
}

}  // namespace dpledger::server
