// gRPC's calls as the desk's. Each reactor is one call, and deletes itself in OnDone.
//
// A call reads its message from the constructor on, and takes nothing of the desk before that is
// here: a client that opens calls and resets them costs the server an object for as long as gRPC
// takes to say so.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/desk/desk.h"

namespace dpledger::server {

// Ends with UNIMPLEMENTED: there is no such method.
class UnknownCall : public grpc::ServerGenericBidiReactor {
 public:
  UnknownCall();
  void OnDone() override { delete this; }
};

// Reads the one request of a unary call or a server stream. UNIMPLEMENTED, as gRPC's own servers
// say, if there is none or a second one.
class OneRequestCall : public grpc::ServerGenericBidiReactor {
 public:
  explicit OneRequestCall(grpc::GenericCallbackServerContext* context);

  void OnReadDone(bool ok) final;
  void OnDone() override { delete this; }

 protected:
  // The request is here, and the caller has said that it is all.
  virtual void OnRequest() = 0;

  grpc::GenericCallbackServerContext* const server_context_;
  grpc::ByteBuffer request_;

 private:
  grpc::ByteBuffer extra_;
  bool has_request_ = false;
};

class UnaryReactor : public OneRequestCall, public UnaryCall {
 public:
  UnaryReactor(Desk& desk, const Method& method, grpc::GenericCallbackServerContext* context)
      : OneRequestCall(context), desk_(desk), method_(method) {}

  const CallContext& context() const override { return call_; }
  absl::Status Parse(Message& request) override;
  void Answer(const absl::Status& status, const Message* response) override;

 private:
  void OnRequest() override;

  Desk& desk_;
  const Method& method_;
  CallContext call_;
  grpc::ByteBuffer response_;
};

class ServerStreamReactor : public OneRequestCall, public StreamDoor {
 public:
  ServerStreamReactor(Desk& desk, const Method& method, grpc::GenericCallbackServerContext* context)
      : OneRequestCall(context), desk_(desk), method_(method) {}

  void OnWriteDone(bool ok) override { stream_->WriteDone(ok); }
  void OnCancel() override;
  void OnDone() override;

  void StartRead() override {}  // there is nothing more to read
  void StartWrite(const Message& message) override;
  void Finish(const absl::Status& status) override;

 private:
  void OnRequest() override;

  Desk& desk_;
  const Method& method_;
  CallContext call_;
  grpc::ByteBuffer outgoing_;
  std::unique_ptr<OpenStream> stream_;

  absl::Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;  // the stream; its cancellation can be told
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

class BidirectionalReactor : public grpc::ServerGenericBidiReactor, public StreamDoor {
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
  grpc::ByteBuffer outgoing_;
  std::unique_ptr<OpenStream> stream_;
};

}  // namespace dpledger::server
