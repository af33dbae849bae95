// The witness's flags, from the command line.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "base/log.h"
#include "connection/server_access.h"
#include "witness/http_door.h"
#include "witness/witness.h"

namespace dpledger::witness {

struct Flags {
  HttpDoorOptions door;
  WitnessOptions witness;
  std::map<std::string, connection::ServerAccess> log_servers;  // by origin
  std::string signing_key;
  std::string port_file;
  bool print_key = false;
  LogLevel log_level = LogLevel::kInfo;
};

// The flags; or, if the program is to end, its exit code, after printing the help, the version or
// the error: 0 for --help and --version, 2 for wrong flags.
std::variant<Flags, int> ParseFlags(int argc, char** argv);

}  // namespace dpledger::witness
