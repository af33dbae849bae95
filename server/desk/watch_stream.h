// One WatchLedgers call: what has changed, as fast as its caller takes it, and a heartbeat now and
// then. A caller that is slow gets each ledger once, as it is then: nothing is queued for him.
#pragma once

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/desk/stream.h"
#include "server/summaries/listing_service.h"

namespace dpledger::server {

class WatchStream : public Stream,
                    public IndexListener,
                    public std::enable_shared_from_this<WatchStream> {
 public:
  // The first answer comes at once: its token is where the watch begins.
  static std::shared_ptr<Stream> Open(ListingService* service,
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
  WatchStream(absl::StatusOr<std::unique_ptr<LedgerWatch>> watch, StreamDoor* door)
      : door_(door), watch_(std::move(watch)) {}

  // Sends what there is to send, or finishes.
  void Advance();
  // nullopt: nothing to send yet.
  std::optional<v1::WatchLedgersResponse> Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  StreamDoor* const door_;  // gone after Finish

  absl::Mutex mutex_;
  // An error: why the request is refused.
  const absl::StatusOr<std::unique_ptr<LedgerWatch>> watch_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  absl::Time sent_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // One thread at a time starts operations, so that none is started after Finish.
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
  bool again_ ABSL_GUARDED_BY(mutex_) = false;  // something came while one advanced
};

}  // namespace dpledger::server
