// Converts this project's errors to gRPC's.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace dpledger::server {

// Keeps the code and message. The details are a google.rpc.Status with one google.rpc.ErrorInfo:
// domain "dpledger", the reason (or, without one, the code's name) and the metadata of
// base/status.h. Cuts long texts: gRPC sends them in trailers of limited size, and a client that
// cannot take the trailers loses the code too.
grpc::Status ToGrpc(const absl::Status& status);
// The same; if there is no memory for the details, RESOURCE_EXHAUSTED without any.
grpc::Status ToGrpcIfRoom(const absl::Status& status);

}  // namespace dpledger::server
