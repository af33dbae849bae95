// How to reach a server: where it is, whom to trust, and who asks.
//
// A channel is plain text if the server's address says http://, or is of this machine with nothing
// said about certificates; it is TLS else. A token goes over TLS or stays on this machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace dpledger::connection {

struct ServerAccess {
  ServerAccess() = default;
  // Of a server alone, as most callers know it.
  ServerAccess(std::string where) : address(std::move(where)) {}  // NOLINT: an address will do
  ServerAccess(const char* where) : address(where) {}             // NOLINT

  // "host:port", "https://host:port" or "http://host:port"; or several, with commas between them,
  // of servers over one database. All of them get the token, each one shows a certificate of its
  // own name, and all are reached by TLS or none.
  std::string address;
  std::string ca;  // PEM file: who signs the server's certificate; empty: the system's list
  std::string certificate;  // PEM file of one's own certificate, for mutual TLS
  std::string key;          // and its key
  std::string token_file;   // a bearer token; read again whenever the file changes
  // The server's log keys (connection/log_keys.h), with blanks between them: acknowledgements that
  // none of them has signed are refused. Empty: they are taken as they come.
  std::string log_key;
};

// `given` with what it leaves out taken from the environment (DPLEDGER_SERVER, DPLEDGER_CA,
// DPLEDGER_CERT, DPLEDGER_CERT_KEY, DPLEDGER_TOKEN_FILE, DPLEDGER_LOG_KEY), and then from the lines
// "name = value" of dpledger/client.conf in the user's folder of configuration ($XDG_CONFIG_HOME,
// or ~/.config): server, ca, cert, cert-key, token-file, log-key; its paths begin in its folder. A
// source that names a server speaks of that server alone, so that no token goes to another one.
//
// INVALID_ARGUMENT that names the field, or the file and its line, for what is no address or does
// not go together; also if there is no server at all.
absl::StatusOr<ServerAccess> Complete(ServerAccess given);

// Of what is given for a token's file: it is not shown in an error then, which may go into a log.
bool LooksLikeAToken(const std::string& path);
// Whether there is anything that Complete would complete: `given` says something, or the
// environment or client.conf names a server. INVALID_ARGUMENT for a client.conf that cannot be
// read.
absl::StatusOr<bool> IsServerMeant(const ServerAccess& given);

// The same access to each of its addresses, in their order.
std::vector<ServerAccess> EachOf(const ServerAccess& access);

// What an access to one address says of its channel.
bool UsesTls(const ServerAccess& access);
// "host:port".
std::string TargetOf(const ServerAccess& access);

}  // namespace dpledger::connection
