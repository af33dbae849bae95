// One Append call: a stream of batches in, cumulative acknowledgements out.
//
//  1. Acknowledgements come in the order of the batches; each one covers all batches before it.
//  2. A refused batch ends the stream with its status, after the acknowledgements of all batches
//     before it. No batch after it is stored.
//  3. At most `window` batches are read and unacknowledged. At that limit the stream stops reading,
//     and HTTP/2's flow control stops the client.
//  4. Draining: the server acknowledges what it has read, then ends the stream with UNAVAILABLE.
//     The client resumes with the first unacknowledged batch, under its request id.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "ledger_store/store.h"
#include "server/desk/call_gate.h"
#include "server/ledger_service.h"

namespace dpledger::server {

class AppendStream;

// The streams that are open, so that all of them can be drained. Thread safe.
class AppendStreams {
 public:
  // Opens a stream. gRPC owns it until OnDone.
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Open(LedgerService* service,
                                                                    CallGate* gate, size_t window);
  // Drains every open stream. A stream that is opened after the gate is closed ends at once.
  void Drain();

 private:
  friend class AppendStream;
  void Remove(const std::shared_ptr<AppendStream>& stream);

  absl::Mutex mutex_;
  std::unordered_set<std::shared_ptr<AppendStream>> open_ ABSL_GUARDED_BY(mutex_);
};

class AppendStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                     public std::enable_shared_from_this<AppendStream> {
 public:
  AppendStream(LedgerService* service, AppendStreams* streams, CallGate* gate, size_t window)
      : service_(service), streams_(streams), gate_(gate), window_(window) {}

  // Starts the next operation that is possible: acknowledges, reads, or finishes. Called after
  // every change of the state below.
  void Advance();
  void Drain();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  struct Batch {
    std::string request_id;
    std::optional<absl::StatusOr<v1::Receipt>> outcome;  // unset: waiting for the store
  };
  enum class Action { kNone, kRead, kWrite, kFinish };

  void Append(uint64_t number, absl::StatusOr<v1::AppendRequest> request);
  // Batch `number` of the stream is durable or refused. Acknowledges the settled batches at the
  // front.
  void Settle(uint64_t number, absl::StatusOr<v1::Receipt> outcome);
  Action NextAction() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  LedgerService* const service_;
  AppendStreams* const streams_;
  CallGate* const gate_;
  const size_t window_;
  const std::shared_ptr<AppendLine> line_ = std::make_shared<AppendLine>();

  // Buffers of gRPC's operations under way; one operation at a time uses each.
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;

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
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // One thread at a time carries out actions, so that no operation is started after Finish. gRPC
  // may call back during an action.
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dpledger::server
