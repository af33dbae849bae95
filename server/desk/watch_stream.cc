#include "server/desk/watch_stream.h"

#include <new>

#include "absl/time/clock.h"
#include "base/out_of_memory.h"

namespace dpledger::server {
namespace {

// Listeners are told once a second: so one comes every 15 s at least.
constexpr absl::Duration kHeartbeat = absl::Seconds(13);

}  // namespace

std::shared_ptr<Stream> WatchStream::Open(ListingService* service, WorkerPool* pool,
                                          const v1::WatchLedgersRequest& request,
                                          const CallContext& call, StreamDoor* door) {
  std::shared_ptr<WatchStream> stream(
      new WatchStream(service->WatchLedgers(request, call), pool, call.party, door));
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

std::optional<v1::WatchLedgersResponse> WatchStream::Next(bool& more) {
  LedgerWatch& watch = **watch_;
  const absl::Time now = absl::Now();
  std::optional<v1::WatchLedgersResponse> next = watch.Next(more);
  if (!next.has_value() && now - sent_ >= kHeartbeat) next = watch.Heartbeat();
  if (next.has_value()) sent_ = now;
  return next;
}

void WatchStream::FinishIfDue() {
  if (!watch_.ok() && !end_.has_value()) end_ = watch_.status();
  if (!end_.has_value() || looking_ || writing_ || finished_) return;
  finished_ = true;
  const absl::Status end = *end_;
  mutex_.Unlock();  // the door may call back
  door_->Finish(end);
  mutex_.Lock();
}

void WatchStream::Advance() {
  const std::shared_ptr<WatchStream> self = shared_from_this();
  absl::MutexLock lock(&mutex_);
  again_ = true;
  if (!started_ && !end_.has_value()) return;
  FinishIfDue();
  if (finished_ || looking_ || writing_ || waiting_) return;
  // A pool that is full is asked again in a second, when listeners are told.
  try {
    waiting_ = pool_.Submit(party_, [self] { self->Look(); }).ok();
  } catch (const std::bad_alloc&) {
    waiting_ = false;
  }
}

void WatchStream::Look() {
  {
    absl::MutexLock lock(&mutex_);
    waiting_ = false;
    if (finished_ || looking_ || writing_ || end_.has_value()) return;
    looking_ = true;
    again_ = false;
  }
  std::optional<v1::WatchLedgersResponse> next;
  bool more = false;
  absl::Status looked;
  try {
    next = Next(more);
  } catch (const std::bad_alloc&) {
    looked = OutOfMemory();
  }
  {
    absl::MutexLock lock(&mutex_);
    if (!looked.ok() && !end_.has_value()) end_ = looked;
    writing_ = next.has_value() && !end_.has_value();
    again_ = again_ || more;
    if (writing_) {
      mutex_.Unlock();  // the door may call back
      door_->StartWrite(*next);
      mutex_.Lock();
    }
    looking_ = false;
    if (writing_ || (!again_ && !end_.has_value() && !next.has_value())) return;
  }
  Advance();
}

}  // namespace dpledger::server
