// A fixed number of threads with a bounded queue, for slow work. It keeps slow work from starving
// the threads that move messages, and bounds how much of it waits.
//
// Thread safe. The destructor runs what was accepted and joins the threads.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace dpledger::server {

class WorkerPool {
 public:
  // `name` names the pool in refusals ("accounting").
  WorkerPool(std::string name, size_t threads, size_t max_queued);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Runs `task` on a thread of the pool. RESOURCE_EXHAUSTED (reason OVERLOADED), without running
  // it, if `max_queued` tasks wait already.
  absl::Status Submit(std::function<void()> task);

 private:
  void Run();

  const std::string name_;
  const size_t max_queued_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace dpledger::server
