// The first error of the disk, kept for good: what a disk says after it cannot be believed, so the
// whole store answers with it from then on. Thread safe.
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

  // Stops the store, unless it has stopped already; status() from now on.
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

  // What a failed read means: damaged data (DATA_LOSS) and missing data are an answer, any other
  // error of the disk stops the store.
  absl::Status OfRead(const absl::Status& error) {
    return absl::IsUnavailable(error) ? Fail(error) : error;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::embedded
