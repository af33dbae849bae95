#include "client/internal/delivery.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "client/internal/refusals.h"
#include "connection/connection.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"

namespace dpledger::client::internal {
namespace {

// Batches under way at once. Enough that a SPOOL trainer is bound by its own disk and not by the
// round trip; a lost stream sends at most these again.
constexpr size_t kWindow = 64;
// The spool hears of so many acknowledgements at once, or of fewer when the stream ends or somebody
// waits for room: a thread that wakes and writes for each takes as much of a training step as
// sending. The batches of those that a killed process forgets are sent again, which changes
// nothing.
constexpr uint64_t kAcknowledgementsOfARecord = 32;

// With gRPC 1.51 a write may fail and the call stay open for ever: then it is given up, and what it
// would have said is said to the next one.
constexpr absl::Duration kStatusFollows = absl::Milliseconds(250);

}  // namespace

// One call of Append. Its state belongs to Delivery::mutex_; gRPC's threads call the On...
// functions.
class Delivery::Stream : public grpc::ClientBidiReactor<v1::AppendRequest, v1::AppendResponse> {
 public:
  Stream(Delivery* delivery, const std::shared_ptr<grpc::Channel>& channel)
      : delivery_(delivery), stub_(v1::LedgerService::NewStub(channel)) {
    {
      absl::MutexLock lock(&delivery->mutex_);
      next = delivery->acknowledged_;
    }
    stub_->async()->Append(&context_, this);
    AddHold();  // writes start outside of the reactions; lifted by Finish
    StartRead(&response_);
    StartCall();
  }

  void Send(v1::AppendBatchRequest batch) {
    *request_.mutable_batch() = std::move(batch);
    StartWrite(&request_);
  }

  // Ends the call and waits for its status; ours is the reason if the other side did not end it.
  absl::Status Finish() {
    bool ended = false;
    {
      absl::MutexLock lock(&delivery_->mutex_);
      ended = broken && error.ok();
    }
    if (!ended) context_.TryCancel();  // after the end it could hide the server's status
    RemoveHold();
    absl::MutexLock lock(&delivery_->mutex_);
    absl::Time late = absl::Now() + kStatusFollows;
    while (!status_.has_value()) {
      if (!delivery_->work_.WaitWithDeadline(&delivery_->mutex_, late)) continue;
      late = absl::InfiniteFuture();
      delivery_->mutex_.Unlock();
      context_.TryCancel();
      delivery_->mutex_.Lock();
    }
    if (!error.ok()) return error;
    return status_->ok() ? absl::UnavailableError("server: ended the stream") : *status_;
  }

  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&delivery_->mutex_);
    writing = false;
    broken |= !ok;
    if (broken || next < delivery_->end_) delivery_->work_.Signal();
  }

  void OnReadDone(bool ok) override {
    {
      absl::MutexLock lock(&delivery_->mutex_);
      const bool was_full = in_flight.size() >= kWindow;
      if (ok) error.Update(Take(response_));
      broken |= !ok || !error.ok();
      if (broken || was_full || delivery_->ShouldRecord()) delivery_->work_.Signal();
      if (broken) return;
    }
    StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    absl::MutexLock lock(&delivery_->mutex_);
    status_ = connection::FromGrpc(status);
    delivery_->work_.Signal();
  }

  uint64_t next = 0;  // position of the batch to send next
  bool writing = false;
  bool broken = false;  // nothing more will come of this call
  absl::Status error;   // ours, and then the reason why it is given up
  absl::Time last_progress = absl::Now();
  struct Sent {
    std::string request_id;
    merkle::Hash hash = {};  // of the request as it was sent, where the receipt must be signed
  };
  std::deque<Sent> in_flight;  // from position acknowledged_ on

 private:
  // An acknowledgement lets noise out, so it must name a batch that was sent.
  absl::Status Take(const v1::AppendResponse& response)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(delivery_->mutex_) {
    if (response.acknowledged_batches() < acknowledged_batches_ ||
        response.acknowledged_batches() - acknowledged_batches_ > in_flight.size()) {
      return absl::DataLossError(absl::StrCat("server: acknowledges ",
                                              response.acknowledged_batches(),
                                              " batches of this stream, which were not sent"));
    }
    const uint64_t more = response.acknowledged_batches() - acknowledged_batches_;
    if (more == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const AcknowledgedTree receipt, TreeOf(response.receipt()));
    const Sent& sent = in_flight[more - 1];
    if (sent.request_id != response.request_id()) {
      return absl::DataLossError(absl::StrCat("server: acknowledges request ",
                                              response.request_id(), " in the place of ",
                                              sent.request_id));
    }
    // It speaks for those before it too: each states its position, and the server takes none whose
    // position is not its writer's next.
    RETURN_IF_ERROR(delivery_->options_.log_keys.Check(sent.hash, response.receipt()));
    RETURN_IF_ERROR(KeepLarger(receipt, delivery_->receipt_));
    in_flight.erase(in_flight.begin(), in_flight.begin() + static_cast<ptrdiff_t>(more));
    acknowledged_batches_ += more;
    last_progress = absl::Now();
    delivery_->acknowledged_ += more;
    delivery_->last_error_ = absl::OkStatus();
    delivery_->progress_.SignalAll();
    return absl::OkStatus();
  }

  Delivery* const delivery_;
  const std::unique_ptr<v1::LedgerService::Stub> stub_;
  grpc::ClientContext context_;
  v1::AppendRequest request_;
  v1::AppendResponse response_;
  uint64_t acknowledged_batches_ = 0;
  std::optional<absl::Status> status_;
};

Delivery::Delivery(Spool* spool, connection::Servers* servers, const std::string& ledger,
                   const Options& options, absl::Status last_error)
    : spool_(spool),
      servers_(servers),
      ledger_(ledger),
      options_(options),
      check_(ledger, options.stall_timeout),
      last_error_(std::move(last_error)) {
  const Spool::State state = spool->state();
  end_ = state.end;
  acknowledged_ = recorded_ = state.acknowledged;
  receipt_ = state.receipt;
  thread_ = std::thread([this] { Run(); });
}

Delivery::~Delivery() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    work_.Signal();
  }
  check_.Cancel();
  thread_.join();
  absl::MutexLock lock(&mutex_);
  if (recorded_ < acknowledged_) RecordAcknowledgements();
}

void Delivery::Offer(uint64_t end) {
  absl::MutexLock lock(&mutex_);
  end_ = std::max(end_, end);
  work_.Signal();
}

absl::Status Delivery::Await(uint64_t end, absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  bool expired = false;
  while (refusal_.ok() && (acknowledged_ < end || !checked_) && !expired) {
    expired = progress_.WaitWithDeadline(&mutex_, deadline);
  }
  if (!refusal_.ok()) return refusal_;
  if (acknowledged_ >= end && checked_) return absl::OkStatus();
  return Late(absl::StrCat(end - std::min(end, acknowledged_), " batches are not acknowledged"));
}

absl::Status Delivery::AwaitDrain(uint64_t batches, absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  ++draining_;
  work_.Signal();
  bool expired = false;
  while (refusal_.ok() && recorded_ <= batches && !expired) {
    expired = progress_.WaitWithDeadline(&mutex_, deadline);
  }
  --draining_;
  if (!refusal_.ok() || recorded_ > batches) return refusal_;
  return Late("acknowledges nothing");
}

absl::Status Delivery::Late(const std::string& what) const {
  return absl::DeadlineExceededError(absl::StrCat(
      "server: ", what, "; last error: ",
      last_error_.ok() ? "none"
                       : last_error_.ToString(absl::StatusToStringMode::kWithNoExtraData)));
}

bool Delivery::Withdraw(const absl::Status& refusal) {
  return options_.withdraws && acknowledged_ < end_ && CanBeTakenBack(refusal) &&
         withdrawn_.try_emplace(acknowledged_, Withdrawal{refusal}).second;
}

// Whoever waits for the last of several rounds releases them all, or none.
absl::Status Delivery::AwaitReleasable(uint64_t first, uint64_t end, absl::Time deadline) {
  RETURN_IF_ERROR(Await(end, deadline));
  absl::MutexLock lock(&mutex_);
  absl::Status outcome;
  for (auto& [position, withdrawal] : withdrawn_) {
    if (position < first || position >= end) continue;
    if (withdrawal.told == 0) withdrawal.told = end;
    if (end <= withdrawal.told) outcome = withdrawal.why;
  }
  return outcome;
}

absl::Status Delivery::Refusal() const {
  absl::MutexLock lock(&mutex_);
  return refusal_;
}

Delivery::Progress Delivery::progress() const {
  absl::MutexLock lock(&mutex_);
  return {acknowledged_, refusal_.ok() ? last_error_ : refusal_};
}

AcknowledgedTree Delivery::receipt() const {
  absl::MutexLock lock(&mutex_);
  return receipt_;
}

void Delivery::Run() {
  Backoff backoff(options_.first_backoff, options_.longest_backoff);
  absl::MutexLock lock(&mutex_);
  while (true) {
    while (!stopping_ && checked_ && acknowledged_ >= end_) work_.Wait(&mutex_);
    if (stopping_) return;
    const uint64_t before = acknowledged_;
    mutex_.Unlock();
    const std::shared_ptr<grpc::Channel> channel = servers_->channel();
    absl::Status ended = CheckAndSend(channel);
    if (options_.raise && ReasonOf(ended).reason == kBudgetExceeded) ended = Raise(ended);
    ended = servers_->MoveOn(channel, ended);
    mutex_.Lock();
    if (ended.ok() || Withdraw(ended)) continue;
    if (IsRefusal(ended)) {
      refusal_ = Explain(ended, ledger_, spool_->path());
      progress_.SignalAll();
      return;
    }
    last_error_ = ended;
    // What the server is working out is ready soon.
    if (acknowledged_ > before || ReasonOf(ended).reason == "FILTER_NOT_READY") backoff.Reset();
    const absl::Time again = absl::Now() + backoff.Next();
    while (!stopping_ && !work_.WaitWithDeadline(&mutex_, again)) {
    }
  }
}

absl::Status Delivery::Raise(const absl::Status& refusal) {
  uint64_t position = 0;
  {
    absl::MutexLock lock(&mutex_);
    position = acknowledged_;
  }
  ASSIGN_OR_RETURN(const v1::AppendBatchRequest refused, spool_->Read(position));
  const absl::Status raised = options_.raise(refused);
  if (raised.ok() || !IsRefusal(raised)) return raised;
  // Another writer of the ledger may have been granted what was left of the budget.
  if (std::exchange(asked_for_, position + 1) != position + 1) return absl::OkStatus();
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat(refusal.message(), "; asked for more: ", raised.message())),
                    ReasonOf(refusal));
}

absl::Status Delivery::CheckAndSend(const std::shared_ptr<grpc::Channel>& channel) {
  RETURN_IF_ERROR(check_.Run(channel, receipt()));
  {
    absl::MutexLock lock(&mutex_);
    checked_ = true;
    progress_.SignalAll();
    if (acknowledged_ >= end_) return absl::OkStatus();
  }
  Stream stream(this, channel);
  {
    absl::MutexLock lock(&mutex_);
    while (Step(stream)) {
    }
  }
  absl::Status ended = stream.Finish();
  // After the end, until which acknowledgements may come: nobody looks at them while nothing is to
  // be sent.
  absl::MutexLock lock(&mutex_);
  if (recorded_ < acknowledged_) RecordAcknowledgements();
  return ended;
}

bool Delivery::Step(Stream& stream) {
  if (stopping_ || stream.broken) return false;
  const bool waiting = !stream.in_flight.empty();
  if (!stream.writing && stream.next < end_ && stream.in_flight.size() < kWindow) {
    if (!waiting) stream.last_progress = absl::Now();
    stream.error.Update(SendNext(stream));
    return stream.error.ok();
  }
  if (ShouldRecord()) {
    RecordAcknowledgements();
    return true;
  }
  const absl::Time stalled =
      waiting ? stream.last_progress + options_.stall_timeout : absl::InfiniteFuture();
  if (!work_.WaitWithDeadline(&mutex_, stalled)) return true;
  // Acknowledgements do not wake this thread.
  if (stream.in_flight.empty() || absl::Now() < stream.last_progress + options_.stall_timeout) {
    return true;
  }
  stream.error = absl::DeadlineExceededError(absl::StrCat(
      "server: no acknowledgement for ", absl::FormatDuration(options_.stall_timeout)));
  return false;
}

absl::Status Delivery::SendNext(Stream& stream) {
  const uint64_t position = stream.next;
  mutex_.Unlock();
  absl::StatusOr<v1::AppendBatchRequest> batch = spool_->Read(position);
  mutex_.Lock();
  RETURN_IF_ERROR(batch.status());
  if (withdrawn_.contains(position)) PutNotes(*batch);
  const connection::LogKeys& keys = options_.log_keys;
  stream.in_flight.push_back(
      {batch->request_id(), keys.empty() ? merkle::Hash{} : keys.AskFor(*batch)});
  stream.next += 1;
  stream.writing = true;
  mutex_.Unlock();  // gRPC may call back from inside
  stream.Send(*std::move(batch));
  mutex_.Lock();
  return absl::OkStatus();
}

bool Delivery::ShouldRecord() const {
  return recorded_ + kAcknowledgementsOfARecord <= acknowledged_ ||
         (draining_ > 0 && recorded_ < acknowledged_);
}

void Delivery::RecordAcknowledgements() {
  const uint64_t acknowledged = acknowledged_;
  const AcknowledgedTree receipt = receipt_;
  mutex_.Unlock();
  // The disk's error is the spool's own: it refuses the next batch with it. What is acknowledged
  // stays so.
  spool_->Acknowledge(acknowledged, receipt).IgnoreError();
  mutex_.Lock();
  recorded_ = acknowledged;
  progress_.SignalAll();
}

}  // namespace dpledger::client::internal
