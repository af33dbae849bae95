// Ledgers that calls have found damaged: what was read is not what was signed, or is not there. The
// server is not ready from then on, until it is started again (docs/operating.md).
//
// Thread safe.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/absl_view.h"
#include "base/log.h"
#include "base/rare_log.h"

namespace dpledger::server {

class Damage {
 public:
  // `log` must outlive the object.
  explicit Damage(const Log* log) : found_(log, "damaged", absl::Minutes(1)) {}

  // `why` is DATA_LOSS. An empty name: of no single ledger.
  void Note(const std::string& ledger, const absl::Status& why) {
    {
      absl::MutexLock lock(&mutex_);
      if (ledgers_.size() < kMostNames) ledgers_.insert(ledger);
    }
    found_.Write("", "", FromAbsl(why.message()), {{"ledger", ledger}});
  }

  // How many ledgers; no more than are remembered.
  size_t count() const {
    absl::MutexLock lock(&mutex_);
    return ledgers_.size();
  }

 private:
  static constexpr size_t kMostNames = 1'000;

  RareLog found_;
  mutable absl::Mutex mutex_;
  std::set<std::string> ledgers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::server
