// The server's log (base/log.h), with the messages of its libraries.
#pragma once

#include "base/log.h"

namespace dpledger::server {

using dpledger::Log;
using dpledger::LogFields;
using dpledger::LogLevel;
using dpledger::LogValue;

// Writes the messages of gRPC and protobuf as lines with the events "grpc" and "protobuf".
// protobuf's are at level debug, because they contain what clients send. `log` must live as long as
// the process.
void RouteLibraryLogs(const Log* log);

}  // namespace dpledger::server
