// A bidirectional gRPC call as a stream of the desk.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>

#include "server/desk/desk.h"

namespace dpledger::server {

// It deletes itself in OnDone.
class BidirectionalReactor : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                             public StreamDoor {
 public:
  BidirectionalReactor(Desk& desk, const Method& method, grpc::CallbackServerContext* context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override { stream_->WriteDone(ok); }
  void OnCancel() override { stream_->Cancel(); }
  void OnDone() override;

  void StartRead() override;
  void StartWrite(const Message& message) override;
  void Finish(const absl::Status& status) override;

 private:
  using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

  const Method& method_;
  const CallContext call_;
  // Buffers of gRPC's operations under way; one operation at a time uses each.
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  std::unique_ptr<OpenStream> stream_;
};

}  // namespace dpledger::server
