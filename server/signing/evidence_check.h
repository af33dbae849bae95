// Looks, on a thread of its own, at what a start has left out
// (ledger_store/evidence/start_check.h): signatures and tiles of ledgers, then entries of the
// registry. So a start takes seconds however many there are. What it finds damaged is told; whoever
// reads it meanwhile finds it too.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/store.h"
#include "server/log.h"

namespace dpledger::server {

class EvidenceCheck {
 public:
  // `damaged` is called with DATA_LOSS, from the thread. All must outlive the object. Precondition:
  // notary->Sign() has returned OK once.
  EvidenceCheck(LedgerStore* store, const Notary* notary, const Log* log,
                std::function<void(const std::string& ledger, const absl::Status& why)> damaged);
  ~EvidenceCheck() { Stop(); }
  // Ends between two ledgers.
  void Stop();

  // How many logs are left, ledgers and the registry, of those that the start left.
  uint64_t left() const { return left_.load(); }

 private:
  void Run();
  // False: it is to end; here and below.
  bool CheckLedgers();
  bool CheckRegistry();
  // That the registry's keys are all that these entries of it name.
  absl::Status CheckKeys(uint64_t first, const std::vector<std::string>& entries);
  // Calls `check` again until the store answers: what is right, lost or not there.
  bool Answered(const std::string& log, const std::function<absl::Status()>& check,
                absl::Status& found);
  absl::Status Look(const std::string& ledger);
  void Tell(const std::string& log, const absl::Status& found);
  bool Sleep(absl::Duration time);

  LedgerStore& store_;
  const Notary& notary_;
  const Log& log_;
  const std::function<void(const std::string&, const absl::Status&)> damaged_;
  std::atomic<uint64_t> left_;
  int64_t damaged_count_ = 0;  // the thread's
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace dpledger::server
