// A unary gRPC call as the desk's.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <string_view>

#include "server/desk/desk.h"
#include "server/grpc_door/message.h"
#include "server/grpc_door/status.h"

namespace dpledger::server {

// It deletes itself in OnDone.
class UnaryReactor : public grpc::ServerUnaryReactor, public UnaryCall {
 public:
  UnaryReactor(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
               grpc::ByteBuffer* response)
      : call_(ContextOf(context)), request_(request), response_(response) {}

  const CallContext& context() const override { return call_; }
  absl::Status Parse(Message& request) override { return ParseInto(*request_, request); }
  void Answer(const absl::Status& status, const Message* response) override {
    if (response != nullptr) *response_ = Serialize(*response);
    Finish(ToGrpc(status));
  }
  void OnDone() override { delete this; }

 private:
  const CallContext call_;
  const grpc::ByteBuffer* const request_;
  grpc::ByteBuffer* const response_;
};

inline grpc::ServerUnaryReactor* ServeUnary(Desk& desk, std::string_view path,
                                            grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
  auto* const call = new UnaryReactor(context, request, response);
  desk.Serve(*desk.Find(path), *call);
  return call;
}

}  // namespace dpledger::server
