#include "server/grpc_door/status.h"

#include <new>

#include "events/wire_errors.h"

namespace dpledger::server {

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  try {
    const google::rpc::Status details = events::WithErrorInfo(status);
    // absl's canonical codes have gRPC's numbers.
    return grpc::Status(static_cast<grpc::StatusCode>(status.code()), details.message(),
                        details.SerializeAsString());
  } catch (const std::bad_alloc&) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "out of memory");  // no allocation
  }
}

}  // namespace dpledger::server
