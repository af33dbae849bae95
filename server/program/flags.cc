#include "server/program/flags.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/address.h"
#include "base/file.h"
#include "flags/app.h"
#include "front/networks.h"
#include "questions/answers.h"
#include "server/http_door/files.h"

namespace dpledger::server {
namespace {

constexpr int kUsageError = 2;

constexpr char kDescription[] = R"(Keeps privacy ledgers and answers what they cost.

Examples:
  dpledger-server
  dpledger-server --listen 127.0.0.1:0 --store /var/lib/dpledger --port-file /run/dpledger/port
  dpledger-server --config /etc/dpledger/server.toml
  dpledger-server --check 127.0.0.1:7070     exits 0 if that server is serving, else 1

Copies of a store (--help of each says more):
  dpledger-server backup --store FOLDER --to FOLDER      while the server runs or not
  dpledger-server restore --from FOLDER --store FOLDER   compares every byte with the backup's hashes

When a store is damaged:
  dpledger-server fsck --store FOLDER                    says what is damaged
  dpledger-server recover --store FOLDER --to FOLDER     saves what can still be read)";

constexpr char kFooter[] = R"(
A config file holds one flag a line, by its long name; flags on the command line win:
  listen = "127.0.0.1:7070"
  store = "/var/lib/dpledger"
  query-timeout-seconds = 10

SIGTERM and SIGINT drain calls and close the store; a second one ends at once, with nothing acknowledged lost.)";

constexpr char kListenAnywhere[] =
    "Allow --listen on an address that other machines reach without --cert and --identity: whoever "
    "reaches the port can read and write every ledger. Put it behind something that has both";

const std::map<std::string, LogLevel> kLogLevels = {{"debug", LogLevel::kDebug},
                                                    {"info", LogLevel::kInfo},
                                                    {"warning", LogLevel::kWarning},
                                                    {"error", LogLevel::kError}};

// Plain text and unknown callers stay on this machine.
std::string AddressError(const ServerOptions& server, bool anywhere) {
  const std::string& text = server.front.address;
  const std::optional<Address> address = ParseAddress(text);
  if (!address.has_value()) return absl::StrCat("must be HOST:PORT, got ", text);
  if (dpledger::IsLoopback(address->host) || anywhere) return "";
  if (server.front.tls.certificate.empty()) {
    return absl::StrCat(text,
                        " can be reached from other machines: give --cert and --cert-key for "
                        "TLS, and --identity so that callers are known; or listen on 127.0.0.1; or "
                        "say --insecure-listen-anywhere if something in front has both");
  }
  if (!server.identity.on) {
    return absl::StrCat(text,
                        " can be reached from other machines: give --identity so that "
                        "callers are known; or listen on 127.0.0.1; or say "
                        "--insecure-listen-anywhere if something in front has both");
  }
  return "";
}

// What is wrong with the files of TLS and of callers, if something is. Fills in their defaults.
std::string ReadIdentity(const std::vector<std::string>& issuers, Flags& flags) {
  front::FrontOptions& front = flags.server.front;
  IdentityOptions& identity = flags.server.identity;
  if (front.tls.certificate.empty() != front.tls.key.empty())
    return "--cert: must be given with --cert-key";
  if (!front.tls.client_ca.empty() && front.tls.certificate.empty())
    return "--client-ca: must be given with --cert";
  if (!front.tls.client_crl.empty() && front.tls.client_ca.empty())
    return "--client-crl: must be given with --client-ca";
  if (front.proxy_protocol && front.trusted_proxies.empty())
    return "--proxy-protocol: must be given with --trusted-proxy";
  if (const auto networks = front::Networks::Parse(front.trusted_proxies); !networks.ok())
    return absl::StrCat("--", absl::StrReplaceAll(networks.status().message(), {{"_", "-"}}));
  if (!identity.on &&
      !(front.tls.client_ca.empty() && identity.token_file.empty() &&
        identity.first_token_file.empty() && identity.policy_file.empty() && issuers.empty())) {
    return "--identity: must be given where callers are to be told apart (--client-ca, --tokens, "
           "--first-token, --policy, --jwt-issuer)";
  }
  for (const std::string& text : issuers) {
    const std::vector<std::string> parts = absl::StrSplit(text, ',');
    if (parts.size() != 3 || parts[0].empty() || parts[1].empty() || parts[2].empty())
      return absl::StrCat("--jwt-issuer: must be ISSUER,AUDIENCE,JWKS-FILE, got ", text);
    identity.issuers.push_back({parts[0], parts[1], parts[2]});
  }
  if (!identity.on) return "";
  if (identity.token_file.empty() && flags.postgres.empty())
    identity.token_file = Beside(flags.store, ".tokens");
  if (identity.first_token_file.empty() && !identity.token_file.empty())
    identity.first_token_file = absl::StrCat(identity.token_file, ".first-admin");
  return "";
}

std::string HttpAddressError(const std::string& address) {
  const std::optional<Address> parsed = ParseAddress(address);
  if (address.empty() || (parsed.has_value() && dpledger::IsLoopback(parsed->host))) return "";
  return absl::StrCat("must be a loopback address IP:PORT, got ", address,
                      ": it has no TLS. The port of --listen serves HTTP too, with TLS");
}

// What is wrong with them, if something is.
std::string ReadWitnesses(const std::vector<std::string>& urls,
                          const std::vector<std::string>& keys, WitnessClientOptions& witnesses) {
  if (urls.size() != keys.size()) {
    return absl::StrCat("--witness-key: must be given once for each --witness, got ", keys.size(),
                        " for ", urls.size());
  }
  for (size_t i = 0; i < urls.size(); ++i) {
    absl::StatusOr<merkle::VerifierKey> key = merkle::VerifierKey::Parse(keys[i]);
    if (!key.ok()) return absl::StrCat("--witness-key: ", key.status().message());
    witnesses.witnesses.push_back({urls[i], *std::move(key)});
  }
  // Only to have the addresses and kinds of keys looked at.
  const absl::Status made = WitnessClient::Make(witnesses, nullptr).status();
  return made.ok() ? "" : absl::StrCat("--witness: ", made.message());
}

// What the command line gives, before it is looked at as a whole.
struct Given {
  Flags flags;
  std::vector<std::string> issuers;
  size_t max_history_mebibytes = flags.server.accounting.max_history_bytes >> 20;
  size_t max_question_mebibytes = flags.server.accounting.max_question_bytes >> 20;
  size_t mebibytes_in_flight = flags.server.desk.quotas.bytes >> 20;
  double checkpoint_seconds = absl::ToDoubleSeconds(flags.server.signing.every);
  double max_connection_age_seconds = 0;
  bool anywhere = false;
  std::string log_level = "info";
  std::vector<std::string> witness_urls;
  std::vector<std::string> witness_keys;
  double query_timeout_seconds = absl::ToDoubleSeconds(flags.server.accounting.query_timeout);
};

void AddFile(flags::App& app, const char* flag, std::string& path, const char* help) {
  app.add_option(flag, path, help)->type_name("FILE");
}

// Within these bounds; the help says the default.
template <typename Number, typename Bound>
void AddNumber(flags::App& app, const char* flag, Number& value, const char* help, Bound least,
               Bound most) {
  app.add_option(flag, value, help)->check(flags::Range(least, most))->capture_default_str();
}

void DescribeCallers(flags::App& app, Given& given) {
  front::FrontOptions& front = given.flags.server.front;
  IdentityOptions& identity = given.flags.server.identity;
  app.add_option("--listen", front.address, "Address HOST:PORT; port 0 picks a free one")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  AddFile(app, "--cert", front.tls.certificate,
          "PEM file of the server's certificate and its chain: the server speaks TLS. Read "
          "again when it changes");
  AddFile(app, "--cert-key", front.tls.key, "PEM file of the certificate's key");
  AddFile(app, "--client-ca", front.tls.client_ca,
          "PEM file of the authorities whose certificates clients may show");
  AddFile(app, "--client-crl", front.tls.client_crl,
          "PEM file of revocation lists: client certificates that are listed are not taken");
  app.add_flag("--identity", identity.on,
               "Know every caller, by token, certificate or JWT, and deny what nobody granted");
  AddFile(app, "--tokens", identity.token_file,
          "File of the tokens' hashes, made at the first start; unless told <store folder>.tokens, "
          "or in the database of --postgres");
  AddFile(app, "--first-token", identity.first_token_file,
          "File in which a start that finds no token leaves the first administrator's; <tokens "
          "file>.first-admin unless told, and none is made if the tokens are in a database");
  AddFile(app, "--policy", identity.policy_file, "File that grants roles to callers, a line each");
  app.add_option("--jwt-issuer", given.issuers,
                 "ISSUER,AUDIENCE,JWKS-FILE: whose JSON web tokens to take. May repeat");
}

void DescribeConnections(flags::App& app, Given& given) {
  front::FrontOptions& front = given.flags.server.front;
  AddNumber(app, "--max-connections", front.max_connections, "Connections at once", 1, 1 << 20);
  app.add_option("--max-connections-per-host", front.max_connections_per_host,
                 "Of these, from one address; a quarter of them unless told")
      ->check(flags::Range(1, 1 << 20));
  AddNumber(app, "--max-connection-age-seconds", given.max_connection_age_seconds,
            "Ask gRPC clients to connect again after this long; 0: never", 0.0, 2e6);
  app.add_option("--trusted-proxy", front.trusted_proxies,
                 "Address or network of a proxy of your own: its connections are not bounded by "
                 "host, and callers' addresses are taken from its X-Forwarded-For. May repeat")
      ->type_name("ADDRESS");
  app.add_flag("--proxy-protocol", front.proxy_protocol,
               "Each connection of a trusted proxy begins with a PROXY header, version 1 or 2: the "
               "address in it counts, and no X-Forwarded-For");
  app.add_flag("--insecure-listen-anywhere", given.anywhere, kListenAnywhere);
}

void DescribeHttp(flags::App& app, Given& given) {
  Flags& flags = given.flags;
  app.add_option(
         "--http-listen", flags.server.http.address,
         "Serve HTTP/1.1 in plain text at this loopback address IP:PORT too, beside the port of "
         "--listen (docs/http.md)")
      ->type_name("HOST:PORT");
  app.add_option("--http-host", flags.server.http.hosts,
                 "A name beside localhost, 127.0.0.1 and [::1] by which HTTP clients reach this "
                 "server. May repeat")
      ->check([](const std::string& host) {
        // Several colons are an address of IPv6.
        const bool plain = host.find_first_of("/ *") == std::string::npos &&
                           std::count(host.begin(), host.end(), ':') != 1;
        return std::string(plain ? "" : "must be a name or an address, without a scheme or a port");
      });
  app.add_option("--http-origin", flags.server.http.origins,
                 "Let pages of this origin, https://HOST[:PORT], call this server. May repeat")
      ->check([](const std::string& origin) {
        const size_t begin = origin.find("://");
        const bool is_origin = begin != std::string::npos && begin + 3 < origin.size() &&
                               origin.find_first_of("/ *", begin + 3) == std::string::npos;
        return std::string(is_origin ? "" : "must be as browsers send it, https://HOST[:PORT]");
      });
  app.add_option(
         "--http-files", flags.server.http.files,
         "Folder of a page's files to serve over HTTP, read at the start; the page that was "
         "installed with the server unless told. Empty: none")
      ->may_be_empty()
      ->type_name("FOLDER");
  app.add_option(
         "--http-prefix", flags.server.http.prefix,
         "Path by which browsers find that page behind a proxy that takes it off: /dpledger/")
      ->check([](const std::string& prefix) { return WrongPrefix(prefix); })
      ->capture_default_str();
  AddNumber(app, "--http-max-connections", flags.server.http.max_connections,
            "HTTP connections at once", 1, 1 << 16);
  AddFile(app, "--http-port-file", flags.http_port_file,
          "Write the address of --http-listen to this file once the server serves");
}

void DescribeSigning(flags::App& app, Given& given) {
  SigningOptions& signing = given.flags.server.signing;
  AddFile(app, "--signing-key", signing.key_file,
          "File of the key that signs checkpoints, made at the first start; "
          "<store folder>.signing-key unless told");
  AddFile(app, "--previous-signing-key", signing.previous_key_file,
          "Changes keys: file of the key that the store was signed with until now");
  AddFile(app, "--checkpoint-copy", signing.checkpoint_file,
          "File that keeps the latest checkpoint outside the store; "
          "<store folder>.checkpoint unless told");
  app.add_flag("--accept-missing-checkpoint", signing.accept_missing_checkpoint,
               "Start although the --checkpoint-copy of an earlier key is not there and no witness "
               "answers: nobody can tell then whether the store is an older copy");
  app.add_option("--log-origin", signing.origin,
                 "Name that checkpoints are signed under, kept for ever; "
                 "dpledger-<hash of the first key> unless told");
  AddNumber(app, "--checkpoint-seconds", given.checkpoint_seconds,
            "Least time between two signatures of all that has changed", 0.05, 86400.0);
  app.add_option(
      "--witness", given.witness_urls,
      "Have this witness cosign checkpoints: http://HOST:PORT or https://HOST:PORT, with "
      "a path or without. May repeat");
  app.add_option("--witness-key", given.witness_keys,
                 "Verifier key of the witness, one for each --witness in the same order");
  AddFile(app, "--witness-ca", given.flags.witnesses.ca_file,
          "Who signs the certificates of https witnesses; default the system's list");
}

void DescribeQuestions(flags::App& app, Given& given) {
  QuotaOptions& quotas = given.flags.server.desk.quotas;
  Flags& flags = given.flags;
  AddNumber(app, "--query-timeout-seconds", given.query_timeout_seconds,
            "Longest time one accounting question may take", 0.001, 86400.0);
  AddNumber(app, "--max-history-mebibytes", given.max_history_mebibytes,
            "Memory for what is known of ledgers between accounting questions", 1, 1 << 20);
  AddNumber(app, "--max-question-mebibytes", given.max_question_mebibytes,
            "Memory that one accounting question may take while it is answered", 1, 1 << 20);
  AddNumber(app, "--usual-delta", flags.server.accounting.usual_delta,
            "The delta at which lists of ledgers show epsilon", 1e-300, 1 - 1e-9);
  AddNumber(app, "--query-threads", flags.server.desk.query_threads,
            "Threads that answer accounting questions", 1, 256);
  AddNumber(app, "--max-questions-per-caller", quotas.questions,
            "Accounting questions of one caller at once, waiting ones included", 1, 1 << 20);
  AddNumber(app, "--question-seconds-per-minute", quotas.question_seconds,
            "Processor time that one caller's questions may take; 0: no limit", 0.0, 60.0 * 256);
  AddNumber(app, "--max-mebibytes-in-flight", given.mebibytes_in_flight,
            "Memory for requests and answers under way; one caller may have half of it", 16,
            1 << 20);
}

void Describe(flags::App& app, Given& given) {
  Flags& flags = given.flags;
  GrpcDoorOptions& door = flags.server.door;

  app.footer(kFooter);
  app.set_version_flag("--version", questions::Version());
  // A misspelt key in it is an error: it must not leave a limit at its default unnoticed.
  app.set_config("--config", "Read flags from this file")->type_name("FILE");
  DescribeCallers(app, given);
  DescribeConnections(app, given);
  DescribeHttp(app, given);
  AddFile(app, "--port-file", flags.port_file,
          "Write the address to this file once the server serves");
  app.add_option("--store", flags.store, "Folder of the ledgers; made if there is none")
      ->type_name("FOLDER")
      ->capture_default_str();
  AddFile(app, "--postgres", flags.postgres,
          "Keep the ledgers in the PostgreSQL database whose connection string this file "
          "holds; mode 600, or what Kubernetes and systemd make of secrets");
  DescribeSigning(app, given);
  AddNumber(app, "--max-message-bytes", door.max_message_bytes, "Greatest message taken", 1 << 16,
            1 << 26);
  AddNumber(app, "--max-streams", door.max_streams, "Calls at once on one connection", 1, 1 << 20);
  DescribeQuestions(app, given);
  AddNumber(app, "--drain-timeout-seconds", flags.drain_timeout_seconds,
            "How long running calls may go on at the end", 0.0, 3600.0);
  app.add_option("--log-level", given.log_level, "Least important lines to write")
      ->check(flags::IsMember(kLogLevels))
      ->capture_default_str();
  app.add_option("--check", flags.check.address,
                 "Ask the server at HOST:PORT whether it is serving, and exit")
      ->type_name("HOST:PORT");
  AddFile(app, "--ca", flags.check.ca,
          "PEM file of who signed that server's certificate; default: DPLEDGER_CA, or the "
          "system's list");
}

}  // namespace

void AddServerFlags(flags::App& app) {
  const auto given = std::make_shared<Given>();
  app.description(kDescription);
  app.callback([given] {});  // keeps it as long as the app, which refers to it
  Describe(app, *given);
}

std::variant<Flags, int> ParseFlags(int argc, char** argv) {
  Given given;
  Flags& flags = given.flags;
  GrpcDoorOptions& door = flags.server.door;
  front::FrontOptions& front = flags.server.front;
  SigningOptions& signing = flags.server.signing;
  flags::App app(kDescription, "dpledger-server");
  Describe(app, given);
  try {
    app.parse(argc, argv);
  } catch (const flags::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }

  for (const std::string& error :
       {ReadIdentity(given.issuers, flags), AddressError(flags.server, given.anywhere)}) {
    if (error.empty()) continue;
    std::cerr << (error.front() == '-' ? "" : "--listen: ") << error << "\n";
    return kUsageError;
  }
  if (app.count("--max-connections-per-host") == 0)
    front.max_connections_per_host = std::max<size_t>(1, front.max_connections / 4);
  if (const std::string error = HttpAddressError(flags.server.http.address); !error.empty()) {
    std::cerr << "--http-listen: " << error << "\n";
    return kUsageError;
  }
  if (app.count("--http-files") == 0) flags.server.http.files = InstalledPage();
  flags.server.http.max_message_bytes = static_cast<size_t>(door.max_message_bytes);
  QuotaOptions& quotas = flags.server.desk.quotas;
  quotas.bytes = given.mebibytes_in_flight << 20;
  if (quotas.bytes < 4 * flags.server.http.max_message_bytes) {
    std::cerr << "--max-mebibytes-in-flight: must hold four messages of --max-message-bytes\n";
    return kUsageError;
  }
  flags.log_level = kLogLevels.at(given.log_level);
  flags.server.accounting.max_history_bytes = given.max_history_mebibytes << 20;
  flags.server.accounting.max_question_bytes = given.max_question_mebibytes << 20;
  flags.server.accounting.query_timeout = absl::Seconds(given.query_timeout_seconds);
  signing.every = absl::Seconds(given.checkpoint_seconds);
  if (given.max_connection_age_seconds > 0)
    door.max_connection_age = absl::Seconds(given.max_connection_age_seconds);
  if (const std::string error =
          ReadWitnesses(given.witness_urls, given.witness_keys, flags.witnesses);
      !error.empty()) {
    std::cerr << error << "\n";
    return kUsageError;
  }
  if (!flags.postgres.empty() && (signing.key_file.empty() || signing.checkpoint_file.empty())) {
    std::cerr << "--postgres: name the files that signing needs with --signing-key and "
                 "--checkpoint-copy: there is no store folder to keep them beside\n";
    return kUsageError;
  }
  if (flags.postgres.empty()) signing.store_folder = flags.store;
  const SigningOptions beside = SigningOptions::Beside(flags.store);
  if (signing.key_file.empty()) signing.key_file = beside.key_file;
  if (signing.checkpoint_file.empty()) signing.checkpoint_file = beside.checkpoint_file;
  return std::move(flags);
}

}  // namespace dpledger::server
