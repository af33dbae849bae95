// The way to a server, shared by the recorder and the command line: a channel with bounded messages
// and a watch on dead connections, and the server's errors as absl::Status.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "connection/server_access.h"
#include "grpcpp/channel.h"
#include "grpcpp/impl/codegen/config_protobuf.h"
#include "grpcpp/support/status.h"

namespace dpledger::connection {

// A channel to the server of Complete(access), or, of several, to the first one that answers now
// and serves; shared by those who ask for the same one (connection/shared_connections.h). It
// connects again by itself after a loss, and stays with its server: connection/servers.h does not.
// INVALID_ARGUMENT of Complete, or that names a file that cannot be read; UNAVAILABLE, with a line
// for each address, if none of several answers.
absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ServerAccess& access);

// A channel to the one address of a complete access. It connects when first used.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectTo(const ServerAccess& access);

// 128 random bits as hexadecimal digits, by which a server knows a request that comes again.
std::string NewRequestId();

// Makes the call that takes this request, of a service in the request's own file, and answers with
// `answer`; the server's errors.
absl::Status Call(const std::shared_ptr<grpc::Channel>& channel,
                  const grpc::protobuf::Message& request, grpc::protobuf::Message& answer,
                  absl::Time deadline);

// The same code and message, with the server's google.rpc.ErrorInfo as the status's ErrorReason
// (base/status.h). UNAVAILABLE for what reads like an answer and is none of a server's: a proxy's
// 404, for example.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace dpledger::connection
