// Wraps a service's method, `Request -> StatusOr<Response>`, as a unary gRPC call.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/call_context.h"
#include "server/desk/call_gate.h"
#include "server/grpc_door/message.h"
#include "server/grpc_door/status.h"
#include "server/log.h"
#include "server/worker_pool.h"

namespace dpledger::server {

// Shared by all calls of a door.
struct DoorEnvironment {
  CallGate* gate;
  const Log* log;
};

// A unary call under way. It deletes itself in OnDone.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
            grpc::ByteBuffer* response, std::string_view method, const DoorEnvironment& environment)
      : context_(context),
        request_(request),
        response_(response),
        method_(method),
        environment_(environment),
        admitted_(environment.gate->Enter()) {}

  // Not OK once the server closes: this is then the call's answer.
  const absl::Status& admitted() const { return admitted_; }
  const grpc::ByteBuffer& request() const { return *request_; }
  CallContext context() const {
    return {absl::FromChrono(context_->deadline()),
            [context = context_] { return context->IsCancelled(); }};
  }

  // Ends the call. The call may be deleted when this returns.
  void Answer(absl::StatusOr<grpc::ByteBuffer> answer) {
    if (answer.ok()) *response_ = *std::move(answer);
    if (environment_.log->Wants(LogLevel::kDebug)) {
      environment_.log->Write(LogLevel::kDebug, "call",
                              {{"method", std::string(method_)},
                               {"code", absl::StatusCodeToString(answer.status().code())},
                               {"milliseconds", absl::ToDoubleMilliseconds(absl::Now() - start_)}});
    }
    Finish(ToGrpc(answer.status()));
  }

  void OnDone() override {
    environment_.gate->Leave();
    delete this;
  }

 private:
  grpc::CallbackServerContext* const context_;
  const grpc::ByteBuffer* const request_;
  grpc::ByteBuffer* const response_;
  const std::string_view method_;
  const DoorEnvironment environment_;
  const absl::Status admitted_;
  const absl::Time start_ = absl::Now();
};

// Parses the request, calls `handler` and serialises its response.
template <typename Request, typename Handler>
absl::StatusOr<grpc::ByteBuffer> Handle(const grpc::ByteBuffer& bytes, const CallContext& context,
                                        const Handler& handler) {
  // This project's code throws nothing, but memory can run out anywhere, and one call must not
  // bring the server down.
  try {
    if (context.cancelled()) return absl::CancelledError("the caller has gone");
    ASSIGN_OR_RETURN(const Request request, Parse<Request>(bytes));
    ASSIGN_OR_RETURN(const auto response, handler(request, context));
    return Serialize(response);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

// Runs `handler`, `(const Request&, const CallContext&) -> StatusOr<Response>`, on a thread of
// `pool` and ends the call with its result. If the call is cancelled while it waits, `handler` is
// not run.
template <typename Request, typename Handler>
grpc::ServerUnaryReactor* ServeOn(WorkerPool& pool, UnaryCall* call, Handler handler) {
  absl::Status accepted = call->admitted();
  if (accepted.ok()) {
    accepted = pool.Submit([call, handler = std::move(handler)] {
      call->Answer(Handle<Request>(call->request(), call->context(), handler));
    });
  }
  if (!accepted.ok()) call->Answer(std::move(accepted));
  return call;
}

}  // namespace dpledger::server
