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
  std::string check;  // not empty: only ask the server there
  std::string port_file;
  std::string store = "./var/store";
  std::string postgres;  // file with a connection string; not empty: the ledgers are there
  double drain_timeout_seconds = 10;
  LogLevel log_level = LogLevel::kInfo;
  WitnessClientOptions witnesses;
  ServerOptions server;  // with the files beside the store that signing needs
};

// The flags, or the exit code after what was to be said has been said: 0 for --help and --version,
// 2 for flags that are wrong.
std::variant<Flags, int> ParseFlags(int argc, char** argv);

// Whether `address` ("host:port", "[host]:port") can be reached from this machine only. Nothing if
// it is no such address.
std::optional<bool> IsLoopback(const std::string& address);

}  // namespace dpledger::server
