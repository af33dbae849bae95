// A fixed number of threads with a bounded queue, for slow work. It keeps slow work from starving
// the threads that move messages, bounds how much of it waits, and has parties take turns
// (server/desk/fair_queue.h).
//
// Thread safe. The destructor runs what was accepted and joins the threads.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/desk/fair_queue.h"

namespace dpledger::server {

struct WorkerPoolOptions {
  std::string name;  // in refusals ("accounting")
  size_t threads = 1;
  size_t max_queued = 1;
  // Its threads run when others leave a processor free: about one part in ten where they do not.
  bool background = false;
};

class WorkerPool {
 public:
  explicit WorkerPool(WorkerPoolOptions options);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Runs `task` on a thread of the pool, when it is the turn of `party`. RESOURCE_EXHAUSTED (reason
  // OVERLOADED), without running it, if `max_queued` tasks wait already.
  absl::Status Submit(const std::string& party, std::function<void()> task);
  const std::string& name() const { return options_.name; }
  // Tasks that wait for a thread.
  size_t waiting() const;

 private:
  void Run();

  const WorkerPoolOptions options_;
  mutable absl::Mutex mutex_;
  FairQueue queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace dpledger::server
