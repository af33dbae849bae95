// The one place where our errors become gRPC's.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace dpledger::server {

// The same code and message; details hold a google.rpc.Status with one google.rpc.ErrorInfo (domain
// "dpledger", and the reason and metadata of base/status.h; without a reason, the code's name).
// Long texts are cut: gRPC sends them in trailers of limited size, and a client that cannot take
// them loses the code too.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace dpledger::server
