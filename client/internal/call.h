// Calls to a server.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/hex.h"
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

// 128 random bits as hexadecimal digits, by which a server knows a request that comes again.
inline std::string NewRequestId() {
  char bytes[16];
  // Fails only for a request over 256 bytes or a kernel without the call.
  if (::getentropy(bytes, sizeof(bytes)) != 0) std::abort();
  return HexEncode(std::string_view(bytes, sizeof(bytes)));
}

}  // namespace dpledger::client::internal
