#include "server/grpc_door/append_stream.h"

#include <new>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "base/status.h"
#include "server/grpc_door/message.h"
#include "server/grpc_door/status.h"

namespace dpledger::server {

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* AppendStreams::Open(
    LedgerService* service, CallGate* gate, size_t window) {
  const auto stream = std::make_shared<AppendStream>(service, this, gate, window);
  {
    absl::MutexLock lock(&mutex_);
    open_.insert(stream);
  }
  // After it is in the set: a gate that closes meanwhile is noticed here, or by Drain.
  if (gate->Enter().ok()) {
    stream->Advance();
  } else {
    stream->Drain();
  }
  return stream.get();
}

void AppendStreams::Drain() {
  std::vector<std::shared_ptr<AppendStream>> streams;
  {
    absl::MutexLock lock(&mutex_);
    streams.assign(open_.begin(), open_.end());
  }
  // Without the lock: a stream that ends takes it to leave the set.
  for (const auto& stream : streams) stream->Drain();
}

void AppendStreams::Remove(const std::shared_ptr<AppendStream>& stream) {
  absl::MutexLock lock(&mutex_);
  open_.erase(stream);
}

void AppendStream::OnReadDone(bool ok) {
  absl::StatusOr<v1::AppendRequest> request = v1::AppendRequest();
  if (ok) request = ParseIfRoom<v1::AppendRequest>(std::exchange(incoming_, {}));
  uint64_t number = 0;
  bool take = false;
  {
    absl::MutexLock lock(&mutex_);
    if (!ok) input_ended_ = true;
    // A batch after a refused one is not stored; one that comes while draining is for the next
    // server.
    take = ok && !refused_ && !draining_ && !finished_;
    if (take) {
      number = acknowledged_ + unacknowledged_.size();
      try {
        unacknowledged_.push_back(
            {request.ok() ? request->batch().request_id() : "", std::nullopt});
      } catch (const std::bad_alloc&) {
        take = false;
        RunOut();
      }
    }
  }
  if (take) Append(number, std::move(request));
  {
    // Only now: the next batch must not overtake this one on its way to the store.
    absl::MutexLock lock(&mutex_);
    reading_ = false;
  }
  Advance();
}

void AppendStream::Append(uint64_t number, absl::StatusOr<v1::AppendRequest> request) {
  if (!request.ok()) {
    Settle(number, request.status());
    return;
  }
  service_->AppendBatch(std::move(*request->mutable_batch()), line_,
                        [self = shared_from_this(), number](absl::StatusOr<v1::Receipt> outcome) {
                          self->Settle(number, std::move(outcome));
                          self->Advance();
                        });
}

void AppendStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok) cancelled_ = true;
  }
  Advance();
}

void AppendStream::OnCancel() {
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
  }
  Advance();
}

void AppendStream::Drain() {
  {
    absl::MutexLock lock(&mutex_);
    draining_ = true;
  }
  Advance();
}

void AppendStream::OnDone() {
  CallGate* const gate = gate_;
  streams_->Remove(shared_from_this());
  gate->Leave();  // last: the door may be gone after it
}

void AppendStream::RunOut() {
  refused_ = true;
  end_ = OutOfMemory();
}

void AppendStream::Settle(uint64_t number, absl::StatusOr<v1::Receipt> outcome) {
  absl::MutexLock lock(&mutex_);
  if (!outcome.ok()) refused_ = true;
  // Already dropped; ignore the outcome.
  if (number - acknowledged_ >= unacknowledged_.size()) return;
  unacknowledged_[number - acknowledged_].outcome = std::move(outcome);
  while (!unacknowledged_.empty() && unacknowledged_.front().outcome.has_value()) {
    Batch batch = std::move(unacknowledged_.front());
    unacknowledged_.pop_front();
    if (!batch.outcome->ok()) {
      end_ = batch.outcome->status();
      unacknowledged_.clear();
      return;
    }
    ++acknowledged_;
    try {
      acknowledgement_.emplace();
      acknowledgement_->set_request_id(std::move(batch.request_id));
      *acknowledgement_->mutable_receipt() = **std::move(batch.outcome);
    } catch (const std::bad_alloc&) {
      acknowledgement_.reset();
      unacknowledged_.clear();
      RunOut();
    }
  }
}

AppendStream::Action AppendStream::NextAction() {
  if (finished_) return Action::kNone;
  if (cancelled_ && !writing_) {
    end_ = absl::CancelledError("the caller has gone");
    return Action::kFinish;
  }
  if (acknowledgement_.has_value()) return writing_ ? Action::kNone : Action::kWrite;
  if (unacknowledged_.empty() && !writing_) {
    if (end_.has_value()) return Action::kFinish;
    if (input_ended_) {
      end_ = absl::OkStatus();
      return Action::kFinish;
    }
    if (draining_) {
      end_ = absl::UnavailableError(
          "the server is shutting down; send what is not acknowledged again, under the same "
          "request ids");
      return Action::kFinish;
    }
  }
  const bool wants_more = !reading_ && !input_ended_ && !refused_ && !draining_;
  return wants_more && unacknowledged_.size() < window_ ? Action::kRead : Action::kNone;
}

void AppendStream::Advance() {
  const std::shared_ptr<AppendStream> self =
      shared_from_this();  // OnDone may come from within Finish
  mutex_.Lock();
  if (advancing_) {
    mutex_.Unlock();
    return;
  }
  advancing_ = true;
  Action action = Action::kNone;
  while ((action = NextAction()) != Action::kNone) {
    if (action == Action::kRead) {
      reading_ = true;
      mutex_.Unlock();
      StartRead(&incoming_);
    } else if (action == Action::kWrite) {
      writing_ = true;
      acknowledgement_->set_acknowledged_batches(acknowledged_);
      acknowledgement_->set_credit(static_cast<uint32_t>(window_ - unacknowledged_.size()));
      try {
        outgoing_ = Serialize(*acknowledgement_);
      } catch (const std::bad_alloc&) {
        // It is stored; the caller learns that when it sends the batch again.
        writing_ = false;
        unacknowledged_.clear();
        RunOut();
      }
      acknowledgement_.reset();
      if (!writing_) continue;
      mutex_.Unlock();
      StartWrite(&outgoing_);
    } else {
      finished_ = true;
      const grpc::Status status = ToGrpcIfRoom(*end_);
      mutex_.Unlock();
      Finish(status);
    }
    mutex_.Lock();
  }
  advancing_ = false;
  mutex_.Unlock();
}

}  // namespace dpledger::server
