// Keeps the first error of the disk. After it the disk cannot be trusted, so from then on the whole
// store answers with this error. Thread safe.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"

namespace dpledger::embedded {

class FailStop {
 public:
  // OK, or UNAVAILABLE (STORE_FAILED) since the first error.
  absl::Status status() const {
    absl::MutexLock lock(&mutex_);
    return failure_;
  }

  // Stops the store with `cause`, unless it has stopped already. Returns status().
  absl::Status Fail(const absl::Status& cause) {
    absl::MutexLock lock(&mutex_);
    if (failure_.ok()) {
      failure_ = WithReason(
          absl::UnavailableError(absl::StrCat(
              "the store has stopped after an error of the disk and acknowledges nothing more: ",
              cause.message())),
          {"STORE_FAILED", {}});
    }
    return failure_;
  }

  // The answer to a failed read. UNAVAILABLE, an error of the disk, stops the store; damaged data
  // (DATA_LOSS) and missing data do not.
  absl::Status OfRead(const absl::Status& error) {
    return absl::IsUnavailable(error) ? Fail(error) : error;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::embedded
