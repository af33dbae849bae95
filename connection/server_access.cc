#include "connection/server_access.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/address.h"
#include "base/file.h"
#include "base/status.h"
#include "connection/log_keys.h"

namespace dpledger::connection {
namespace {

constexpr char kHttp[] = "http://";
constexpr char kHttps[] = "https://";

// Each part by its name in a file and in the environment.
struct Part {
  const char* name;
  const char* variable;
  std::string ServerAccess::*member;
  bool is_path;
};
constexpr Part kParts[] = {
    {"server", "DPLEDGER_SERVER", &ServerAccess::address, false},
    {"ca", "DPLEDGER_CA", &ServerAccess::ca, true},
    {"cert", "DPLEDGER_CERT", &ServerAccess::certificate, true},
    {"cert-key", "DPLEDGER_CERT_KEY", &ServerAccess::key, true},
    {"token-file", "DPLEDGER_TOKEN_FILE", &ServerAccess::token_file, true},
    {"log-key", "DPLEDGER_LOG_KEY", &ServerAccess::log_key, false},
};

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

ServerAccess FromEnvironment() {
  ServerAccess access;
  for (const Part& part : kParts) access.*part.member = Variable(part.variable);
  return access;
}

// The folder dpledger/ of the user's configuration, or "".
std::string ConfigFolder() {
  const std::string base = Variable("XDG_CONFIG_HOME");
  if (!base.empty()) return absl::StrCat(base, "/dpledger");
  const std::string home = Variable("HOME");
  return home.empty() ? "" : absl::StrCat(home, "/.config/dpledger");
}

absl::StatusOr<ServerAccess> FromFile(const std::string& folder) {
  ServerAccess access;
  const std::string path = absl::StrCat(folder, "/client.conf");
  // A user without a right to the folder, as of a HOME that is another's, has no such file.
  std::error_code unknown;
  if (folder.empty() || !std::filesystem::exists(path, unknown)) return access;
  // One that is there and cannot be read may say whose signature is to be demanded.
  ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    ++number;
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (text.empty() || text.front() == '#') continue;
    const size_t equals = text.find('=');
    const auto refuse = [&](const char* rule) {
      return FieldError(absl::StrCat(path, " line ", number), absl::StrCat(rule, ", got ", text));
    };
    if (equals == absl::string_view::npos) return refuse("must be NAME = VALUE");
    const absl::string_view name = absl::StripAsciiWhitespace(text.substr(0, equals));
    absl::string_view value = absl::StripAsciiWhitespace(text.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    const Part* found = nullptr;
    for (const Part& part : kParts) found = name == part.name ? &part : found;
    if (found == nullptr)
      return refuse("must set one of server, ca, cert, cert-key, token-file, log-key");
    if (value.empty() || !(access.*found->member).empty())
      return refuse("must give each name one value");
    access.*found->member = found->is_path && value.front() != '/'
                                ? absl::StrCat(folder, "/", value)
                                : std::string(value);
  }
  return access;
}

void TakeFrom(const ServerAccess& source, ServerAccess& access) {
  if (!source.address.empty() && !access.address.empty() && source.address != access.address)
    return;
  // The key of one source does not go with the certificate of another.
  const bool has_certificate = !access.certificate.empty() || !access.key.empty();
  for (const Part& part : kParts) {
    const bool of_pair =
        part.member == &ServerAccess::certificate || part.member == &ServerAccess::key;
    if (of_pair && has_certificate) continue;
    if ((access.*part.member).empty()) access.*part.member = source.*part.member;
  }
}

// "http://host:port/", as browsers copy it, is host:port.
std::string WithoutScheme(absl::string_view server) {
  if (absl::ConsumePrefix(&server, kHttps) || absl::ConsumePrefix(&server, kHttp)) {
    absl::ConsumeSuffix(&server, "/");
  }
  return std::string(server);
}

std::optional<Address> AddressOf(const std::string& server) {
  return ParseAddress(WithoutScheme(server));
}

absl::Status CheckAddress(const ServerAccess& access) {
  const std::optional<Address> address = AddressOf(access.address);
  if (!address.has_value() || address->port == 0)
    return FieldError("server", absl::StrCat("must be host:port, got ", access.address));
  if (!absl::StartsWith(access.address, kHttp)) return absl::OkStatus();
  if (!access.ca.empty() || !access.key.empty()) {
    return FieldError("server", absl::StrCat("must be https:// where certificates are given, got ",
                                             access.address));
  }
  if (!access.token_file.empty() && !IsLoopback(address->host)) {
    return FieldError(
        "server", absl::StrCat("must be https:// where a token is given, since http:// shows it "
                               "to the network, got ",
                               access.address));
  }
  return absl::OkStatus();
}

absl::Status Check(const ServerAccess& access) {
  if (access.address.empty()) {
    return FieldError("server",
                      "must be given as host:port, as DPLEDGER_SERVER, or in client.conf");
  }
  const std::vector<ServerAccess> each = EachOf(access);
  for (const ServerAccess& one : each) {
    RETURN_IF_ERROR(CheckAddress(one));
    if (UsesTls(one) == UsesTls(each.front())) continue;
    return FieldError("server", absl::StrCat("must be reached by TLS at each address or at none: "
                                             "say https:// or http:// before each, got ",
                                             access.address));
  }
  if (access.certificate.empty() != access.key.empty())
    return FieldError(access.key.empty() ? "cert_key" : "cert", "must be given with the other one");
  return LogKeys::Parse(access.log_key).status();
}

}  // namespace

absl::StatusOr<bool> IsServerMeant(const ServerAccess& given) {
  for (const Part& part : kParts) {
    if (!(given.*part.member).empty()) return true;
  }
  ASSIGN_OR_RETURN(const ServerAccess file, FromFile(ConfigFolder()));
  return !FromEnvironment().address.empty() || !file.address.empty();
}

bool LooksLikeAToken(const std::string& path) {
  const absl::string_view name = absl::string_view(path).substr(path.rfind('/') + 1);
  return absl::StartsWith(name, "dpl_") || absl::StartsWith(name, "eyJ");  // or a web token
}

absl::StatusOr<ServerAccess> Complete(ServerAccess given) {
  TakeFrom(FromEnvironment(), given);
  ASSIGN_OR_RETURN(const ServerAccess file, FromFile(ConfigFolder()));
  TakeFrom(file, given);
  RETURN_IF_ERROR(Check(given));
  return given;
}

std::vector<ServerAccess> EachOf(const ServerAccess& access) {
  std::vector<ServerAccess> each;
  for (const absl::string_view address : absl::StrSplit(access.address, ',')) {
    each.push_back(access);
    each.back().address = std::string(absl::StripAsciiWhitespace(address));
  }
  return each;
}

bool UsesTls(const ServerAccess& access) {
  if (absl::StartsWith(access.address, kHttps)) return true;
  if (absl::StartsWith(access.address, kHttp)) return false;
  if (!access.ca.empty() || !access.key.empty()) return true;
  const std::optional<Address> address = AddressOf(access.address);
  return address.has_value() && !IsLoopback(address->host);
}

std::string TargetOf(const ServerAccess& access) { return WithoutScheme(access.address); }

}  // namespace dpledger::connection
