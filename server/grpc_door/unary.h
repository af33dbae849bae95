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
#include "server/grpc_door/message.h"
#include "server/grpc_door/status.h"
#include "server/log.h"
#include "server/worker_pool.h"

namespace dpledger::server {

// A call on its way: knows how to end it, once.
struct UnaryCall {
  UnaryCall(grpc::CallbackServerContext* call_context, const grpc::ByteBuffer* call_request,
            grpc::ByteBuffer* call_response, std::string_view method_name, const Log* call_log)
      : context(call_context),
        // Once only: each DefaultReactor() makes a new one in the place of the one before.
        reactor(call_context->DefaultReactor()),
        request(call_request),
        response(call_response),
        method(method_name),
        log(call_log) {}

  grpc::CallbackServerContext* context;
  grpc::ServerUnaryReactor* reactor;
  const grpc::ByteBuffer* request;
  grpc::ByteBuffer* response;
  std::string_view method;
  const Log* log;
  absl::Time start = absl::Now();

  CallContext Context() const {
    return {absl::FromChrono(context->deadline()),
            [context = context] { return context->IsCancelled(); }};
  }

  void Finish(absl::StatusOr<grpc::ByteBuffer> answer) const {
    if (answer.ok()) *response = *std::move(answer);
    if (log->Wants(LogLevel::kDebug)) {
      log->Write(LogLevel::kDebug, "call",
                 {{"method", std::string(method)},
                  {"code", absl::StatusCodeToString(answer.status().code())},
                  {"milliseconds", absl::ToDoubleMilliseconds(absl::Now() - start)}});
    }
    reactor->Finish(ToGrpc(answer.status()));
  }
};

// What `handler` answers to the call, as bytes.
template <typename Request, typename Handler>
absl::StatusOr<grpc::ByteBuffer> Answer(const UnaryCall& call, const Handler& handler) {
  // Our code throws nothing, but memory can run out anywhere, and one call must not take the server
  // down.
  try {
    if (call.context->IsCancelled()) return absl::CancelledError("the caller has gone");
    ASSIGN_OR_RETURN(const Request request, Parse<Request>(*call.request));
    ASSIGN_OR_RETURN(const auto response, handler(request, call.Context()));
    return Serialize(response);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

// Runs `handler`, `(const Request&, const CallContext&) -> StatusOr<Response>`, on a thread of
// `pool` and ends the call with what it returns. A call that is cancelled while it waits is not
// run.
template <typename Request, typename Handler>
grpc::ServerUnaryReactor* ServeOn(WorkerPool& pool, const UnaryCall& call, Handler handler) {
  absl::Status accepted = pool.Submit(
      [call, handler = std::move(handler)] { call.Finish(Answer<Request>(call, handler)); });
  if (!accepted.ok()) call.Finish(std::move(accepted));
  return call.reactor;
}

}  // namespace dpledger::server
