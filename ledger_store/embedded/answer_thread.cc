#include "ledger_store/embedded/answer_thread.h"

#include <pthread.h>

#include <utility>

namespace dpledger::embedded {

AnswerThread::AnswerThread() : thread_([this] { RunUntilStopped(); }) {}

AnswerThread::~AnswerThread() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void AnswerThread::Run(std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
}

void AnswerThread::RunUntilStopped() {
  ::pthread_setname_np(::pthread_self(), "answer");  // as top and perf show it
  while (true) {
    std::vector<std::function<void()>> tasks;
    {
      const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !tasks_.empty();
      };
      absl::MutexLock lock(&mutex_, absl::Condition(&ready));
      if (tasks_.empty()) return;
      tasks.swap(tasks_);
    }
    for (std::function<void()>& task : tasks) {
      task();
      task = nullptr;  // what it holds is not kept for the others
    }
  }
}

}  // namespace dpledger::embedded
