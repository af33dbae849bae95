// One Append call: a stream of batches in, cumulative acknowledgements out.
//
//  1. Acknowledgements come in the order of the batches; each one covers all batches before it.
//  2. A refused batch ends the stream with its status, after the acknowledgements of all batches
//     before it. No batch after it is stored.
//  3. At most `window` batches are read and unacknowledged. At that limit the stream stops reading,
//     and HTTP/2's flow control stops the client.
//  4. If the server ends it, it acknowledges what it has read first. The client resumes with the
//     first unacknowledged batch, under its request id.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "ledger_store/store.h"
#include "server/desk/stream.h"
#include "server/services/ledger_service.h"

namespace dpledger::server {

class AppendStream : public Stream, public std::enable_shared_from_this<AppendStream> {
 public:
  // `caller` is that of CallContext::NameInEntries.
  AppendStream(LedgerService* service, StreamDoor* door, size_t window, std::string caller)
      : service_(service), door_(door), window_(window), caller_(std::move(caller)) {}

  void Start() override { Advance(); }
  void OnRead(absl::StatusOr<MessagePointer> message) override;
  void OnEndOfInput() override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void End(const absl::Status& why) override;

 private:
  struct Batch {
    std::string request_id;
    std::optional<absl::StatusOr<v1::Receipt>> outcome;  // unset: waiting for the store
  };
  enum class Action { kNone, kRead, kWrite, kFinish };

  // Starts the next operation that is possible: acknowledges, reads, or finishes. Called after
  // every change of the state below.
  void Advance();
  void Append(uint64_t number, absl::StatusOr<MessagePointer> message);
  // Batch `number` of the stream is durable or refused. Acknowledges the settled batches at the
  // front.
  void Settle(uint64_t number, absl::StatusOr<v1::Receipt> outcome);
  // There is no memory for what comes next: the stream ends, after what waits was acknowledged.
  void RunOut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action NextAction() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  LedgerService* const service_;
  StreamDoor* const door_;  // gone after Finish
  const size_t window_;
  const std::string caller_;
  const std::shared_ptr<AppendLine> line_ = std::make_shared<AppendLine>();

  absl::Mutex mutex_;
  std::deque<Batch> unacknowledged_ ABSL_GUARDED_BY(mutex_);
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<v1::AppendResponse> acknowledgement_ ABSL_GUARDED_BY(mutex_);  // to be sent
  std::optional<absl::Status> end_
      ABSL_GUARDED_BY(mutex_);  // the stream's status, once all earlier batches are acknowledged
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool input_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool refused_ ABSL_GUARDED_BY(mutex_) = false;  // a batch was refused: nothing more is read
  // The server ends the stream, with this status.
  std::optional<absl::Status> ending_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // One thread at a time carries out actions, so that no operation is started after Finish. The
  // door may call back during an action.
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dpledger::server
