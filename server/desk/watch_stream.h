// One WatchLedgers call: what has changed, as fast as its caller takes it, and a heartbeat now and
// then. A caller that is slow gets each ledger once, as it is then: nothing is queued for it. What
// is new is looked for on a pool, where callers take turns.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/desk/stream.h"
#include "server/desk/worker_pool.h"
#include "server/summaries/listing_service.h"

namespace dpledger::server {

class WatchStream : public Stream,
                    public IndexListener,
                    public std::enable_shared_from_this<WatchStream> {
 public:
  // The first answer comes at once: its token is where the watch begins. `service` and `pool` must
  // outlive the stream.
  static std::shared_ptr<Stream> Open(ListingService* service, WorkerPool* pool,
                                      const v1::WatchLedgersRequest& request,
                                      const CallContext& call, StreamDoor* door);

  void Start() override;
  void OnRead(absl::StatusOr<MessagePointer>) override {}  // it reads nothing
  void OnEndOfInput() override {}
  void OnWriteDone(bool ok) override;
  void OnCancel() override { End(absl::CancelledError("the caller has gone")); }
  void End(const absl::Status& why) override;
  void OnIndex() override { Advance(); }

 private:
  WatchStream(absl::StatusOr<std::unique_ptr<LedgerWatch>> watch, WorkerPool* pool,
              std::string party, StreamDoor* door)
      : door_(door), pool_(*pool), party_(std::move(party)), watch_(std::move(watch)) {}

  // Finishes if that is due; else has the pool look for what there is to send.
  void Advance();
  // On the pool: sends what there is to send.
  void Look();
  // nullopt: nothing to send yet. Of the thread that looks.
  std::optional<v1::WatchLedgersResponse> Next(bool& more);
  void FinishIfDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  StreamDoor* const door_;  // gone after Finish
  WorkerPool& pool_;
  const std::string party_;

  absl::Mutex mutex_;
  // An error: why the request is refused. The watch is of the thread that looks.
  const absl::StatusOr<std::unique_ptr<LedgerWatch>> watch_;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  absl::Time sent_ = absl::InfinitePast();  // of the thread that looks
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // One thread at a time starts operations, so that none is started after Finish.
  bool looking_ ABSL_GUARDED_BY(mutex_) = false;
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;  // for a thread of the pool
  bool again_ ABSL_GUARDED_BY(mutex_) = false;    // something came since the last look
};

}  // namespace dpledger::server
