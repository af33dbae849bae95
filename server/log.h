// The server's log (base/log.h), and the messages of the libraries that it is built on in it.
#pragma once

#include "base/log.h"

namespace dpledger::server {

using dpledger::Log;
using dpledger::LogFields;
using dpledger::LogLevel;
using dpledger::LogValue;

// The messages of gRPC and protobuf become lines with the events "grpc" and "protobuf"; protobuf's
// at debug, for it tells of what clients send. `log` must live as long as the process.
void RouteLibraryLogs(const Log* log);

}  // namespace dpledger::server
