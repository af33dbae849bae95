// The greatest counts of ledgers by data set that this server has read: a count never goes back,
// and a row that says less was put back. Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace dpledger::postgres {

class SeenCounts {
 public:
  void See(const std::string& dataset, uint64_t count) {
    absl::MutexLock lock(&mutex_);
    uint64_t& greatest = greatest_[dataset];
    if (greatest < count) greatest = count;
  }
  // 0 if none was read. What is read after this call is at least as great.
  uint64_t Greatest(const std::string& dataset) {
    absl::MutexLock lock(&mutex_);
    const auto found = greatest_.find(dataset);
    return found == greatest_.end() ? 0 : found->second;
  }

 private:
  absl::Mutex mutex_;
  std::map<std::string, uint64_t> greatest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::postgres
