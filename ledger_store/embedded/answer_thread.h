// Runs what it is given on a thread of its own, one after the other. The commit thread hands it the
// answers of a group that is durable: waking 64 callers takes about as long as a fast disk's sync,
// and can be done while the next group is written (64 writers of one event each: 48 k/s without
// it).
//
//  1. Tasks run in the order of the calls, each once; the destructor runs what is left.
// Thread safe.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace dpledger::embedded {

class AnswerThread {
 public:
  AnswerThread();
  ~AnswerThread();
  AnswerThread(const AnswerThread&) = delete;
  AnswerThread& operator=(const AnswerThread&) = delete;

  void Run(std::function<void()> task);

 private:
  void RunUntilStopped();

  absl::Mutex mutex_;
  std::vector<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace dpledger::embedded
