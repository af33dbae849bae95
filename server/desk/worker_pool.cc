#include "server/desk/worker_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status.h"

namespace dpledger::server {
namespace {

// Linux gives a thread of this niceness 110 shares where others have 1024 (sched(7)).
constexpr int kBackgroundNiceness = 10;
constexpr absl::Duration kTryAgain = absl::Seconds(1);

}  // namespace

WorkerPool::WorkerPool(WorkerPoolOptions options) : options_(std::move(options)) {
  for (size_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkerPool::~WorkerPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status WorkerPool::Submit(const std::string& party, std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  if (queue_.size() >= options_.max_queued) {
    return RetryAfter(absl::ResourceExhaustedError(
                          absl::StrCat(options_.name, ": ", queue_.size(), " calls wait already")),
                      "OVERLOADED", kTryAgain);
  }
  queue_.Push({party, std::move(task)});
  return absl::OkStatus();
}

size_t WorkerPool::waiting() const {
  absl::MutexLock lock(&mutex_);
  return queue_.size();
}

void WorkerPool::Run() {
  // Of this thread alone, as Linux has it. One that may not is as busy as the others.
  if (options_.background)
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kBackgroundNiceness);
  while (true) {
    FairQueue::Task task;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](WorkerPool* pool) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool->mutex_) {
            return pool->stopping_ || !pool->queue_.empty();
          },
          this));
      if (queue_.empty()) return;
      task = queue_.Pop();
    }
    const absl::Duration began = Clock::System()->Steady();
    task.run();
    const absl::Duration took = Clock::System()->Steady() - began;
    absl::MutexLock lock(&mutex_);
    queue_.Done(task.party, took);
  }
}

}  // namespace dpledger::server
