// Follows the store for a whole server: one reader, whatever the number of lists and watches. It
// brings into the index what is made durable, by this server (which tells it) or by another one on
// the same database (it looks ten times a second, or less where that takes long). A ledger that is
// damaged keeps none of the others back: it is said in the log and in the index, and looked at
// again.
//
// Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "ledger_store/store.h"
#include "server/log.h"
#include "server/summaries/ledger_index.h"

namespace dpledger::server {

class LedgerTail : public StoreObserver {
 public:
  // All ledgers are in the index, and the stored summaries may be read.
  using Loaded = std::function<absl::Status()>;
  // These ledgers were made or went on.
  using Changed = std::function<void(const std::vector<std::string>& ledgers)>;

  // `store`, `index` and `log` must outlive the object.
  LedgerTail(LedgerStore* store, LedgerIndex* index, const Log* log)
      : store_(*store), index_(*index), log_(log) {}
  ~LedgerTail() override { Stop(); }

  void Start(Loaded loaded, Changed changed);
  void Stop();

  // The index has what was durable when this was called. UNAVAILABLE while the store cannot be
  // read; DEADLINE_EXCEEDED.
  absl::Status Refresh(absl::Time deadline);

  void OnGroup(const CommittedGroup& group) override;
  // When a group was last made durable by this server; the infinite past: never.
  absl::Time last_group() const { return absl::FromUnixMillis(last_group_ms_); }

 private:
  void Run();
  absl::Status Load();
  absl::Status Poll();
  // Looks again at those that were damaged, and says which ones are new.
  void TakeDamaged(const std::vector<DamagedLedger>& found);

  LedgerStore& store_;
  LedgerIndex& index_;
  const Log* const log_;
  Loaded loaded_;
  Changed changed_;
  std::atomic<int64_t> last_group_ms_ = 0;
  std::atomic<bool> dirty_ = false;  // a group was made durable since the last poll began

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool nudged_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;   // polls that somebody waits for
  uint64_t polled_ ABSL_GUARDED_BY(mutex_) = 0;  // what was asked when the last poll began
  absl::Status last_ ABSL_GUARDED_BY(mutex_);    // of the last poll
  // The thread's own.
  bool is_loaded_ = false;
  uint64_t since_ = 0;
  std::map<std::string, absl::Status> damaged_;
  bool complained_ = false;
  std::thread thread_;
};

}  // namespace dpledger::server
