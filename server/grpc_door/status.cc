#include "server/grpc_door/status.h"

#include "server/desk/error_details.h"

namespace dpledger::server {

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status details = WithErrorInfo(status);
  // absl's canonical codes have gRPC's numbers.
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), details.message(),
                      details.SerializeAsString());
}

}  // namespace dpledger::server
