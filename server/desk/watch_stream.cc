#include "server/desk/watch_stream.h"

#include <new>
#include <utility>

#include "absl/time/clock.h"
#include "base/out_of_memory.h"

namespace dpledger::server {
namespace {

// Listeners are told once a second: so one comes every 15 s at least.
constexpr absl::Duration kHeartbeat = absl::Seconds(13);

}  // namespace

std::shared_ptr<Stream> WatchStream::Open(ListingService* service,
                                          const v1::WatchLedgersRequest& request,
                                          const CallContext& call, StreamDoor* door) {
  std::shared_ptr<WatchStream> stream(new WatchStream(service->WatchLedgers(request, call), door));
  service->index().Listen(stream);
  return stream;
}

void WatchStream::Start() {
  {
    absl::MutexLock lock(&mutex_);
    started_ = true;
  }
  Advance();
}

void WatchStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok && !end_.has_value()) end_ = absl::CancelledError("the caller has gone");
  }
  Advance();
}

void WatchStream::End(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (!end_.has_value()) end_ = why;
  }
  Advance();
}

std::optional<v1::WatchLedgersResponse> WatchStream::Next() {
  LedgerWatch& watch = **watch_;
  const absl::Time now = absl::Now();
  std::optional<v1::WatchLedgersResponse> next = watch.Next();
  if (!next.has_value() && now - sent_ >= kHeartbeat) next = watch.Heartbeat();
  if (next.has_value()) sent_ = now;
  return next;
}

void WatchStream::Advance() {
  const std::shared_ptr<WatchStream> self = shared_from_this();
  absl::MutexLock lock(&mutex_);
  again_ = true;
  if (advancing_ || (!started_ && !end_.has_value())) return;
  advancing_ = true;
  while (again_ && !finished_ && !writing_) {
    again_ = false;
    std::optional<v1::WatchLedgersResponse> next;
    if (!watch_.ok() && !end_.has_value()) end_ = watch_.status();
    if (!end_.has_value()) {
      try {
        next = Next();
      } catch (const std::bad_alloc&) {
        end_ = OutOfMemory();
      }
    }
    if (end_.has_value()) {
      finished_ = true;
    } else if (next.has_value()) {
      writing_ = true;
    } else {
      continue;
    }
    const absl::Status end = end_.value_or(absl::OkStatus());
    mutex_.Unlock();  // the door may call back
    if (next.has_value()) {
      door_->StartWrite(*next);
    } else {
      door_->Finish(end);
    }
    mutex_.Lock();
  }
  advancing_ = false;
}

}  // namespace dpledger::server
