// Log lines that a stranger can cause, or that repeat while something is away: at most one in a
// second or a minute, so that they do not fill the disk. The next line says how many were left out.
// Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/log.h"

namespace dpledger {

class RareLog {
 public:
  RareLog(const Log* log, std::string event, absl::Duration every = absl::Seconds(1))
      : log_(*log), event_(std::move(event)), every_(every) {}

  void Write(std::string_view peer, std::string_view caller, std::string_view reason,
             LogFields more = {}) {
    int64_t unsaid = 0;
    {
      absl::MutexLock lock(&mutex_);
      const absl::Time now = absl::Now();
      if (now - written_ < every_ && now >= written_) {
        ++unsaid_;
        return;
      }
      written_ = now;
      unsaid = std::exchange(unsaid_, 0);
    }
    log_.Write(LogLevel::kWarning, event_,
               {{"peer", std::string(peer)},
                {"caller", std::string(caller)},
                {"reason", std::string(reason)},
                {"others_unsaid", unsaid}},
               more);
  }

 private:
  const Log& log_;
  const std::string event_;
  const absl::Duration every_;
  absl::Mutex mutex_;
  absl::Time written_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int64_t unsaid_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dpledger
