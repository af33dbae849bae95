// The server's flags, from the command line and from a config file.
#pragma once

#include <string>
#include <variant>

#include "connection/server_access.h"
#include "flags/app.h"
#include "server/log.h"
#include "server/server.h"
#include "server/signing/witness_client.h"

namespace dpledger::server {

struct Flags {
  connection::ServerAccess check;  // not empty: only ask that server for its health
  std::string port_file;
  std::string http_port_file;
  std::string store = "./var/store";
  std::string postgres;  // not empty: a file with the connection string of the ledgers' database
  double drain_timeout_seconds = 10;
  LogLevel log_level = LogLevel::kInfo;
  WitnessClientOptions witnesses;
  ServerOptions server;  // with signing's files beside the store
};

// The flags; or, if the program is to end, its exit code, after printing the help, the version or
// the error: 0 for --help and --version, 2 for wrong flags.
std::variant<Flags, int> ParseFlags(int argc, char** argv);

// The same flags for an app that is described, and not parsed.
void AddServerFlags(flags::App& app);

}  // namespace dpledger::server
