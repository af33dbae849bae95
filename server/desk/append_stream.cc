#include "server/desk/append_stream.h"

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/out_of_memory.h"
#include "base/status.h"

namespace dpledger::server {

void AppendStream::OnRead(absl::StatusOr<MessagePointer> message) {
  uint64_t number = 0;
  bool take = false;
  {
    absl::MutexLock lock(&mutex_);
    // A batch after a refused one is not stored; one that comes while the server ends the stream is
    // for the next server.
    take = !refused_ && !ending_.has_value() && !finished_;
    if (take) {
      number = acknowledged_ + unacknowledged_.size();
      try {
        unacknowledged_.push_back(
            {message.ok() ? static_cast<const v1::AppendRequest&>(**message).batch().request_id()
                          : "",
             std::nullopt});
      } catch (const std::bad_alloc&) {
        take = false;
        RunOut();
      }
    }
  }
  if (take) Append(number, std::move(message));
  {
    // Only now: the next batch must not overtake this one on its way to the store.
    absl::MutexLock lock(&mutex_);
    reading_ = false;
  }
  Advance();
}

void AppendStream::OnEndOfInput() {
  {
    absl::MutexLock lock(&mutex_);
    input_ended_ = true;
    reading_ = false;
  }
  Advance();
}

void AppendStream::Append(uint64_t number, absl::StatusOr<MessagePointer> message) {
  if (!message.ok()) {
    Settle(number, message.status());
    return;
  }
  auto& request = static_cast<v1::AppendRequest&>(**message);
  service_->AppendBatch(std::move(*request.mutable_batch()), caller_, line_,
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

void AppendStream::End(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (!ending_.has_value()) {
      ending_ = absl::Status(
          why.code(),
          absl::StrCat(why.message(),
                       "; send what is not acknowledged again, under the same request ids"));
      if (const ErrorReason reason = ReasonOf(why); !reason.reason.empty()) {
        ending_ = WithReason(*ending_, reason);
      }
    }
  }
  Advance();
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
    if (ending_.has_value()) {
      end_ = ending_;
      return Action::kFinish;
    }
  }
  const bool wants_more = !reading_ && !input_ended_ && !refused_ && !ending_.has_value();
  return wants_more && unacknowledged_.size() < window_ ? Action::kRead : Action::kNone;
}

void AppendStream::Advance() {
  const std::shared_ptr<AppendStream> self =
      shared_from_this();  // the door may be gone after Finish
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
      door_->StartRead();
    } else if (action == Action::kWrite) {
      writing_ = true;
      acknowledgement_->set_acknowledged_batches(acknowledged_);
      acknowledgement_->set_credit(static_cast<uint32_t>(window_ - unacknowledged_.size()));
      const v1::AppendResponse acknowledgement = *std::move(acknowledgement_);
      acknowledgement_.reset();
      mutex_.Unlock();
      door_->StartWrite(acknowledgement);
    } else {
      finished_ = true;
      const absl::Status status = *end_;
      mutex_.Unlock();
      door_->Finish(status);
    }
    mutex_.Lock();
  }
  advancing_ = false;
  mutex_.Unlock();
}

}  // namespace dpledger::server
