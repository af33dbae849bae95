// Answers grpc.reflection.v1alpha.ServerReflection: which services the table has, and the .proto
// files of this program, so that tools such as grpcurl need none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "server/desk/stream.h"

namespace dpledger::server {

// `services`: full names. Thread safe.
grpc::reflection::v1alpha::ServerReflectionResponse Reflect(
    const std::vector<std::string>& services,
    const grpc::reflection::v1alpha::ServerReflectionRequest& request);

// A stream that answers one request after another.
std::shared_ptr<Stream> OpenReflection(std::vector<std::string> services, StreamDoor* door);

}  // namespace dpledger::server
