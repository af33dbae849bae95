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
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/desk/desk.h"

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
// input. The others answer the first, as gRPC's own servers do, and save a trip through gRPC's
// queue.
//
// Who calls is known before anything is read. A stranger's message is waited for but two seconds,
// only so many of one host at once, and dropped unless the method is open to everybody: what has no
// credentials takes next to no memory.
class OneRequestCall : public WatchedCall {
 public:
  OneRequestCall(Desk& desk, const Method& method, grpc::GenericCallbackServerContext* context);

  void OnReadDone(bool ok) final;

 protected:
  // The request is here; that of a stranger who may not ask is empty.
  virtual void OnRequest() = 0;

  Desk& desk_;
  const Method& method_;
  grpc::GenericCallbackServerContext* const server_context_;
  grpc::ByteBuffer request_;
  CallContext call_;

 private:
  grpc::ByteBuffer extra_;
  bool has_request_ = false;
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

// The bytes of a stream's message on their way.
class StreamWriter {
 public:
  // False if there is no memory for them: the stream then ends with OUT_OF_MEMORY.
  bool Serialize(const Message& message);
  grpc::ByteBuffer& bytes() { return bytes_; }
  // What a stream ends with that wants to end with `status`.
  grpc::Status StatusOf(const absl::Status& status) const;

 private:
  grpc::ByteBuffer bytes_;
  bool ran_out_ = false;
};

class ServerStreamReactor : public OneRequestCall, public StreamDoor {
 public:
  ServerStreamReactor(Desk& desk, const Method& method, grpc::GenericCallbackServerContext* context)
      : OneRequestCall(desk, method, context) {}

  void OnWriteDone(bool ok) override { stream_->WriteDone(ok); }
  void OnCancel() override;
  void OnDone() override;

  void StartRead() override {}  // there is nothing more to read
  void StartWrite(const Message& message) override;
  void Finish(const absl::Status& status) override;

 private:
  void OnRequest() override;

  StreamWriter writer_;
  std::unique_ptr<OpenStream> stream_;

  absl::Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;  // the stream; its cancellation can be told
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

// A stranger's, of a method that is open to everybody, lasts ten seconds.
class BidirectionalReactor : public WatchedCall, public StreamDoor {
 public:
  BidirectionalReactor(Desk& desk, const Method& method,
                       grpc::GenericCallbackServerContext* context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override { stream_->WriteDone(ok); }
  void OnCancel() override;
  void OnDone() override;

  void StartRead() override;
  void StartWrite(const Message& message) override;
  void Finish(const absl::Status& status) override;

 private:
  const Method& method_;
  const CallContext call_;
  // Buffers of gRPC's operations under way; one operation at a time uses each.
  grpc::ByteBuffer incoming_;
  StreamWriter writer_;
  std::unique_ptr<OpenStream> stream_;
};

}  // namespace dpledger::server
