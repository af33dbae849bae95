#include "witness/flags.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <vector>

#include "base/absl_view.h"
#include "flags/app.h"
#include "flags/reference.h"

namespace dpledger::witness {
namespace {

constexpr int kUsageError = 2;

constexpr char kDescription[] =
    R"(Cosigns the checkpoints of logs, so that a log which shows two histories is found out.

Examples:
  dpledger-witness --signing-key witness.pem --name example.org/witness --print-key
  dpledger-witness --signing-key witness.pem --name example.org/witness \
      --state /var/lib/dpledger-witness --log-key 'dpledger-0123456789abcdef+89abcdef+AX5…' \
      --log-server dpledger-0123456789abcdef=ledgers.example.org:7070 --ca ca.pem --token-file auditor.token)";

constexpr char kFooter[] = R"(
Speaks C2SP tlog-witness: POST /add-checkpoint, GET /<SHA-256 of the origin>/checkpoint. It listens
without TLS: requests and answers are signed. Keep the state folder and the key: without them the witness forgets what it cosigned.
SIGTERM, SIGINT and SIGHUP end it after the answers under way.)";

const std::map<std::string, LogLevel> kLogLevels = {{"debug", LogLevel::kDebug},
                                                    {"info", LogLevel::kInfo},
                                                    {"warning", LogLevel::kWarning},
                                                    {"error", LogLevel::kError}};

bool HasLog(const Flags& flags, const std::string& origin) {
  return std::any_of(flags.witness.log_keys.begin(), flags.witness.log_keys.end(),
                     [&](const merkle::VerifierKey& key) { return key.name == origin; });
}

}  // namespace

std::variant<Flags, int> ParseFlags(int argc, char** argv) {
  Flags flags;
  std::string log_level = "info";
  std::vector<std::string> log_keys, log_servers;
  connection::ServerAccess access;  // of every log server
  bool consistency_only = false;
  flags.witness.state_folder = "./var/witness";

  flags::App app(kDescription, "dpledger-witness");
  app.footer(kFooter);
  app.set_version_flag("--version", DPLEDGER_VERSION);
  app.add_option("--listen", flags.door.address, "Address IP:PORT; port 0 picks a free one")
      ->capture_default_str();
  app.add_option("--port-file", flags.port_file,
                 "Write the address to this file once the witness listens")
      ->type_name("FILE");
  app.add_option("--signing-key", flags.signing_key,
                 "File of the witness's Ed25519 key, for its owner alone; made if there is none")
      ->required()
      ->type_name("FILE");
  app.add_option("--name", flags.witness.name, "Name of the witness: a URL without a scheme")
      ->required();
  app.add_option("--state", flags.witness.state_folder,
                 "Folder of what was cosigned; made if there is none")
      ->type_name("FOLDER")
      ->capture_default_str();
  app.add_option("--log-key", log_keys,
                 "Verifier key of a log to cosign, name+id+key; its name is the log's origin. May "
                 "repeat");
  app.add_option(
      "--log-server", log_servers,
      "ORIGIN=HOST:PORT: the dpledger server whose registry that is. Its entries are read "
      "before a checkpoint is cosigned; over TLS unless it is of this machine or begins with "
      "http://. May repeat");
  const auto file = [&app](const char* flag, std::string& path, const char* help) {
    app.add_option(flag, path, help)->check(flags::ExistingFile())->type_name("FILE");
  };
  file("--ca", access.ca,
       "Who signs the log servers' certificates, PEM; the system's list unless told");
  file("--cert", access.certificate, "The witness's own certificate, PEM, for mutual TLS");
  file("--cert-key", access.key, "The key of --cert, PEM");
  file("--token-file", access.token_file,
       "A token that lets the witness read the registry; for one --log-server alone");
  app.add_flag("--consistency-only", consistency_only,
               "Cosign logs without a --log-server for their consistency alone, whatever their "
               "entries say");
  app.add_option("--max-connections", flags.door.max_connections, "Connections at once")
      ->check(flags::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--log-level", log_level, "Least important lines to write")
      ->check(flags::IsMember(kLogLevels))
      ->capture_default_str();
  app.add_flag("--print-key", flags.print_key, "Print the witness's verifier key, and exit");
  if (const std::optional<int> done =
          flags::RunReferenceCommand(argc, argv, app,
                                     {.section = "8",
                                      .version = "dpledger " DPLEDGER_VERSION,
                                      .manual = "System Administration"})) {
    return *done;
  }
  try {
    app.parse(argc, argv);
  } catch (const flags::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  for (const std::string& text : log_keys) {
    absl::StatusOr<merkle::VerifierKey> key = merkle::VerifierKey::Parse(text);
    if (!key.ok()) {
      std::cerr << "--log-key: " << FromAbsl(key.status().message()) << "\n";
      return kUsageError;
    }
    flags.witness.log_keys.push_back(*std::move(key));
  }
  if (log_keys.empty() && !flags.print_key) {
    std::cerr << "--log-key: must name at least one log\n";
    return kUsageError;
  }
  for (const std::string& text : log_servers) {
    const size_t sign = text.rfind('=');
    const std::string origin = text.substr(0, sign);
    if (sign == std::string::npos || sign + 1 == text.size() || !HasLog(flags, origin)) {
      std::cerr << "--log-server: must be ORIGIN=HOST:PORT, where ORIGIN is the name of a "
                   "--log-key, got "
                << text << "\n";
      return kUsageError;
    }
    connection::ServerAccess& server = flags.log_servers[origin] = access;
    server.address = text.substr(sign + 1);
    if (const absl::Status status = connection::Complete(server).status(); !status.ok()) {
      std::cerr << "--log-server " << origin << ": " << FromAbsl(status.message()) << "\n";
      return kUsageError;
    }
  }
  if (!access.token_file.empty() && flags.log_servers.size() > 1) {
    std::cerr << "--token-file: must go to one --log-server alone, for each would learn it, got "
              << flags.log_servers.size() << " of them\n";
    return kUsageError;
  }
  for (const merkle::VerifierKey& key : flags.witness.log_keys) {
    if (consistency_only || flags.log_servers.count(key.name) > 0) continue;
    std::cerr << "--log-server: must be given for " << key.name
              << ", so that its entries are read before they are cosigned; or give "
                 "--consistency-only, for logs that are no dpledger registry\n";
    return kUsageError;
  }
  flags.log_level = kLogLevels.at(log_level);
  return flags;
}

}  // namespace dpledger::witness
