// Calls to a server.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "connection/connection.h"
#include "grpcpp/client_context.h"

namespace dpledger::client::internal {

// What `method` of `stub` answers until the deadline; the server's errors.
template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Call(Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              const Request& request, absl::Time deadline) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  Response response;
  RETURN_IF_ERROR(connection::FromGrpc((stub.*method)(&context, request, &response)));
  return response;
}

}  // namespace dpledger::client::internal
