#include "server/grpc_door/calls.h"

#include <new>
#include <utility>

#include "absl/time/clock.h"
#include "base/out_of_memory.h"
#include "server/grpc_door/message.h"
#include "server/grpc_door/status.h"

namespace dpledger::server {

using Reactor = grpc::ServerGenericBidiReactor;

namespace {

constexpr size_t kFirstWindow = 65'535;                         // RFC 9113, section 6.9.2
constexpr absl::Duration kStrangersTime = absl::Seconds(2);     // for a message
constexpr absl::Duration kInputTime = absl::Seconds(20);        // of a known caller, each part
constexpr absl::Duration kNoRoom = absl::Milliseconds(100);     // the end is mostly there already
constexpr absl::Duration kStrangersStream = absl::Seconds(10);  // for a stream of them
constexpr absl::Duration kAtOnce = absl::Milliseconds(10);      // once gRPC has the reactor

}  // namespace

void WatchedCall::GiveUpAfter(grpc::GenericCallbackServerContext* context, absl::Duration time) {
  ++holds_;
  // The context is gone once OnDone has returned, which may be while this is about to cancel.
  grpc_call* const call = context->c_call();
  grpc_call_ref(call);
  given_up_.emplace();
  given_up_->Set(absl::ToChronoTime(absl::Now() + time), [this, call](bool expired) {
    if (expired) grpc_call_cancel(call, nullptr);
    grpc_call_unref(call);
    LetGo();
  });
}

void WatchedCall::CallOff() {
  if (given_up_.has_value()) given_up_->Cancel();
}

void WatchedCall::BoundStranger(Desk& desk, grpc::GenericCallbackServerContext* context,
                                const CallContext& call, absl::Duration time) {
  if (call.identified.ok()) return;
  absl::StatusOr<std::unique_ptr<Quotas::Permit>> permit = desk.AdmitStranger(call);
  GiveUpAfter(context, permit.ok() ? time : kAtOnce);
  if (permit.ok()) permit_ = *std::move(permit);
}

void WatchedCall::LetIn() {
  CallOff();
  permit_.reset();
}

void WatchedCall::OnDone() {
  CallOff();
  LetGo();
}

void WatchedCall::LetGo() {
  if (--holds_ == 0) delete this;
}

UnknownCall::UnknownCall(Desk& desk, grpc::GenericCallbackServerContext* context) {
  StartRead(&dropped_);
  BoundStranger(desk, context, ContextOf(context, desk), kStrangersTime);
}

void UnknownCall::OnReadDone(bool) {
  Finish(ToGrpc(absl::UnimplementedError("the server has no such method")));
}

OneRequestCall::OneRequestCall(Desk& desk, const Method& method,
                               grpc::GenericCallbackServerContext* context)
    : desk_(desk), method_(method), server_context_(context), call_(ContextOf(context, desk)) {
  if (call_.identified.ok() && method_.permission.has_value()) {
    desk_.turns_to_send().Wait(call_.party, this);
  } else {
    Reactor::StartRead(&request_);
    BoundStranger(desk_, server_context_, call_, kStrangersTime);
  }
}

void OneRequestCall::OnTurn() {
  has_turn_ = true;
  GiveUpAfter(server_context_, kInputTime);
  Reactor::StartRead(&request_);
}

// A call whose turn has not come reads as well: the read fails at once.
void OneRequestCall::OnCancel() {
  if (desk_.turns_to_send().GiveUp(call_.party, this)) Reactor::StartRead(&request_);
}

void OneRequestCall::OnReadDone(bool ok) {
  const bool first = ok && !has_request_;
  has_request_ = has_request_ || ok;
  if (std::exchange(has_turn_, false)) desk_.turns_to_send().Leave(call_.party);
  if (first) LetIn();
  if (first && method_.permission.has_value() && !call_.identified.ok()) {
    request_.Clear();
    OnRequest();
    return;
  }
  if (first && !method_.no_side_effects) {
    absl::StatusOr<std::unique_ptr<Quotas::Permit>> waiting =
        desk_.AdmitWaiting(call_, request_.Length());
    GiveUpAfter(server_context_, waiting.ok() ? kInputTime : kNoRoom);
    if (waiting.ok()) waiting_ = *std::move(waiting);
    Reactor::StartRead(&extra_);
  } else if (first || (!ok && has_request_)) {
    waiting_.reset();  // the desk counts it from now on
    CallOff();
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
  call_.request_bytes = request_.Length();
  desk_.Serve(method_, *this);
}

void UnaryReactor::Answer(const absl::Status& status, const Message* response) {
  if (response == nullptr) {
    Reactor::Finish(ToGrpc(status));
    return;
  }
  try {
    response_ = Serialize(*response);
  } catch (const std::bad_alloc&) {
    Reactor::Finish(ToGrpc(OutOfMemory()));
    return;
  }
  if (response_.Length() > kFirstWindow) {
    GiveUpAfter(server_context_, takes_answer_within_);
  }
  Reactor::StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
}

// gRPC calls OnDone after this has returned: the reactor is there to the end.
void ServerStreamReactor::OnRequest() {
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
  OneRequestCall::OnCancel();
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    if (!started_) return;  // OnRequest sees it, or finishes
  }
  stream_->Cancel();
}

// gRPC holds operations back that start before it has the reactor: it calls nothing here until the
// constructor is over.
BidirectionalReactor::BidirectionalReactor(Desk& desk, const Method& method,
                                           grpc::GenericCallbackServerContext* context)
    : method_(method), call_(ContextOf(context, desk)) {
  BoundStranger(desk, context, call_, kStrangersStream);
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

}  // namespace dpledger::server
