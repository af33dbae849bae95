// gRPC's calls as the desk's. Each reactor is one call, and deletes itself in OnDone.
//
// Every call reads first, and finishes only when the read has ended, even where its answer is known
// already. With gRPC 1.51 the server grew by 2 GB for 100,000 calls that were finished in their
// reactor's constructor and reset by their client; it does not for calls that read first.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>
#include <new>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/out_of_memory.h"
#include "server/desk/desk.h"
#include "server/grpc_door/message.h"
#include "server/grpc_door/status.h"

namespace dpledger::server {

// A call that is cancelled if it goes on for too long.
class WatchedCall : public grpc::ServerGenericBidiReactor {
 public:
  void OnDone() override;

 protected:
  // Cancels the call unless it is done, or the time is called off, until then.
  void GiveUpAfter(grpc::GenericCallbackServerContext* context, absl::Duration time);
  void CallOff();
  // Of who has shown no credentials, what is on its way takes memory for so long at most, and of so
  // many calls of one host: others are cancelled.
  void BoundStranger(Desk& desk, grpc::GenericCallbackServerContext* context,
                     const CallContext& call, absl::Duration time);
  // The stranger's message has come.
  void LetIn();

 private:
  // The call is over, and so is the watch on it: deletes it.
  void LetGo();

  std::unique_ptr<Quotas::Permit> permit_;  // a stranger's
  std::optional<grpc::Alarm> given_up_;
  std::atomic<int> holds_ = 1;
};

// Ends with UNIMPLEMENTED: there is no such method.
class UnknownCall : public WatchedCall {
 public:
  UnknownCall(Desk& desk, grpc::GenericCallbackServerContext* context);
  void OnReadDone(bool ok) override;

 private:
  grpc::ByteBuffer dropped_;
};

// Reads the one request of a unary call or a server stream. UNIMPLEMENTED if there is none. A
// method with a side effect is also refused if there is a second one: it waits for the end of the
// input, so long where all that wait have room, and else but for what is on its way. The others
// answer the first, as gRPC's own servers do, and save a trip through gRPC's queue.
//
// Who calls is known before anything is read. A stranger's message is waited for but two seconds,
// only so many of one host at once, and dropped unless the method is open to everybody: what has no
// credentials takes next to no memory. Of a known caller so many messages are read at once; other
// calls wait for their turn, each with what HTTP/2 lets a stream send unasked.
class OneRequestCall : public WatchedCall, private Turns::Waiter {
 public:
  OneRequestCall(Desk& desk, const Method& method, grpc::GenericCallbackServerContext* context);

  void OnReadDone(bool ok) final;
  void OnCancel() override;

 protected:
  // The request is here; that of a stranger who may not ask is empty.
  virtual void OnRequest() = 0;

  Desk& desk_;
  const Method& method_;
  grpc::GenericCallbackServerContext* const server_context_;
  grpc::ByteBuffer request_;
  CallContext call_;

 private:
  void OnTurn() override;

  grpc::ByteBuffer extra_;
  bool has_request_ = false, has_turn_ = false;
  std::unique_ptr<Quotas::Permit> waiting_;  // for the end of the input, with the request
};

class UnaryReactor : public OneRequestCall, public UnaryCall {
 public:
  UnaryReactor(Desk& desk, const Method& method, grpc::GenericCallbackServerContext* context,
               absl::Duration takes_answer_within)
      : OneRequestCall(desk, method, context), takes_answer_within_(takes_answer_within) {}

  const CallContext& context() const override { return call_; }
  absl::Status Parse(Message& request) override;
  void Answer(const absl::Status& status, const Message* response) override;

 private:
  void OnRequest() override;

  // A client that opens no window for its answer would hold it for ever. Answers that may not fit
  // into the window that HTTP/2 begins with are watched.
  const absl::Duration takes_answer_within_;
  grpc::ByteBuffer response_;
};

// A stream of the desk over one of the calls above.
template <typename Call>
class StreamReactor : public Call, public StreamDoor {
 public:
  using Call::Call;

  void OnWriteDone(bool ok) override { stream_->WriteDone(ok); }
  void OnDone() override {
    if (stream_ != nullptr) stream_->Done();
    Call::OnDone();
  }

  void StartWrite(const Message& message) override {
    try {
      bytes_ = Serialize(message);
    } catch (const std::bad_alloc&) {
      ran_out_ = true;
      return stream_->WriteDone(false);
    }
    Call::StartWrite(&bytes_);
  }
  void Finish(const absl::Status& status) override {
    Call::Finish(ToGrpc(ran_out_ ? OutOfMemory() : status));
  }

 protected:
  std::unique_ptr<OpenStream> stream_;

 private:
  grpc::ByteBuffer bytes_;  // of the message on its way
  bool ran_out_ = false;    // there was no memory for one: the stream ends with OUT_OF_MEMORY
};

class ServerStreamReactor : public StreamReactor<OneRequestCall> {
 public:
  using StreamReactor::StreamReactor;

  void OnCancel() override;
  void StartRead() override {}  // there is nothing more to read

 private:
  void OnRequest() override;

  absl::Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;  // the stream; its cancellation can be told
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

// A stranger's, of a method that is open to everybody, lasts ten seconds.
class BidirectionalReactor : public StreamReactor<WatchedCall> {
 public:
  BidirectionalReactor(Desk& desk, const Method& method,
                       grpc::GenericCallbackServerContext* context);

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void StartRead() override { grpc::ServerGenericBidiReactor::StartRead(&incoming_); }

 private:
  const Method& method_;
  const CallContext call_;
  grpc::ByteBuffer incoming_;  // of the read under way
};

}  // namespace dpledger::server
