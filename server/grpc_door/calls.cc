#include "server/grpc_door/calls.h"

#include <utility>

#include "server/grpc_door/message.h"
#include "server/grpc_door/status.h"

namespace dpledger::server {

using Reactor = grpc::ServerGenericBidiReactor;

UnknownCall::UnknownCall() {
  Finish(ToGrpc(absl::UnimplementedError("the server has no such method")));
}

OneRequestCall::OneRequestCall(grpc::GenericCallbackServerContext* context)
    : server_context_(context) {
  Reactor::StartRead(&request_);
}

void OneRequestCall::OnReadDone(bool ok) {
  if (ok && !has_request_) {
    has_request_ = true;
    Reactor::StartRead(&extra_);
  } else if (!ok && has_request_) {
    OnRequest();
  } else {
    Reactor::Finish(ToGrpc(absl::UnimplementedError(
        ok ? "the call takes one message, got a second one" : "the call needs a message")));
  }
}

absl::Status UnaryReactor::Parse(Message& request) {
  return ParseInto(std::exchange(request_, {}), request);
}

void UnaryReactor::OnRequest() {
  call_ = ContextOf(server_context_);
  desk_.Serve(method_, *this);
}

void UnaryReactor::Answer(const absl::Status& status, const Message* response) {
  if (response == nullptr) {
    Reactor::Finish(ToGrpc(status));
    return;
  }
  response_ = Serialize(*response);
  Reactor::StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
}

// gRPC calls OnDone after this has returned: the reactor is there to the end.
void ServerStreamReactor::OnRequest() {
  call_ = ContextOf(server_context_);
  absl::StatusOr<MessagePointer> request = ParseNew(std::exchange(request_, {}), *method_.request);
  if (!request.ok()) {
    Finish(request.status());
    return;
  }
  absl::StatusOr<std::unique_ptr<OpenStream>> opened =
      desk_.Open(method_, call_, this, *std::move(request));
  if (!opened.ok()) {
    Finish(opened.status());
    return;
  }
  stream_ = *std::move(opened);
  stream_->Start();
  bool cancelled = false;
  {
    absl::MutexLock lock(&mutex_);
    started_ = true;
    cancelled = cancelled_;
  }
  if (cancelled) stream_->Cancel();
}

void ServerStreamReactor::OnCancel() {
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    if (!started_) return;  // OnRequest sees it, or finishes
  }
  stream_->Cancel();
}

void ServerStreamReactor::OnDone() {
  if (stream_ != nullptr) stream_->Done();
  delete this;
}

void ServerStreamReactor::StartWrite(const Message& message) {
  outgoing_ = Serialize(message);
  Reactor::StartWrite(&outgoing_);
}

void ServerStreamReactor::Finish(const absl::Status& status) { Reactor::Finish(ToGrpc(status)); }

// gRPC holds operations back that start before it has the reactor: it calls nothing here until the
// constructor is over.
BidirectionalReactor::BidirectionalReactor(Desk& desk, const Method& method,
                                           grpc::GenericCallbackServerContext* context)
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
  if (ok) {
    stream_->Received(ParseNew(std::exchange(incoming_, {}), *method_.request));
  } else {
    stream_->EndOfInput();
  }
}

void BidirectionalReactor::OnCancel() {
  if (stream_ != nullptr) stream_->Cancel();
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
