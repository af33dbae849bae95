// The server's flags, from the command line and from a config file.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "server/log.h"
#include "server/server.h"
#include "server/witness_client.h"

namespace dpledger::server {

struct Flags {
  std::string check;  // not empty: the address of a server; only ask for its health
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

// Whether `address` ("host:port", "[host]:port") can be reached from this machine only. nullopt if
// it has neither form.
std::optional<bool> IsLoopback(const std::string& address);

}  // namespace dpledger::server
