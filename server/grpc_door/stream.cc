#include "server/grpc_door/stream.h"

#include <utility>

#include "server/grpc_door/message.h"
#include "server/grpc_door/status.h"

namespace dpledger::server {

// Until the constructor's caller has handed the reactor to gRPC, gRPC keeps the operations that
// were started back: nothing is called from here.
BidirectionalReactor::BidirectionalReactor(Desk& desk, const Method& method,
                                           grpc::CallbackServerContext* context)
    : method_(method), call_(ContextOf(context)) {
  absl::StatusOr<std::unique_ptr<OpenStream>> opened = desk.Open(method, call_, this, nullptr);
  if (opened.ok()) {
    stream_ = *std::move(opened);
    stream_->Start();
  } else {
    Finish(opened.status());
  }
}

void BidirectionalReactor::OnReadDone(bool ok) {
  if (!ok) {
    stream_->EndOfInput();
    return;
  }
  stream_->Received(ParseNew(std::exchange(incoming_, {}), *method_.request));
}

void BidirectionalReactor::OnDone() {
  if (stream_ != nullptr) stream_->Done();
  delete this;
}

void BidirectionalReactor::StartRead() { Reactor::StartRead(&incoming_); }

void BidirectionalReactor::StartWrite(const Message& message) {
  outgoing_ = Serialize(message);
  Reactor::StartWrite(&outgoing_);
}

void BidirectionalReactor::Finish(const absl::Status& status) { Reactor::Finish(ToGrpc(status)); }

}  // namespace dpledger::server
