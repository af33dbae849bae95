#include "server/http_door/http_door.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "server/http_door/connect_error.h"
#include "server/http_door/rpc.h"
#include "server/http_door/session.h"

namespace dpledger::server {
namespace {

constexpr char kLedgers[] = "dpledger.v1.LedgerService";
constexpr std::string_view kLogs = "/tlog/";
// How long an answer that the desk has given may take on its way at the end.
constexpr absl::Duration kLastAnswers = absl::Seconds(1);

http::ServerOptions ServerOptionsOf(const HttpDoorOptions& options) {
  http::ServerOptions server;
  server.address = options.address;
  server.hosts = {"localhost", "127.0.0.1", "[::1]"};
  for (const std::string& host : options.hosts) {
    // Of IPv6 addresses, requests name the host in brackets.
    const bool is_v6 = absl::StrContains(host, ':') && host.front() != '[';
    server.hosts.push_back(absl::AsciiStrToLower(is_v6 ? absl::StrCat("[", host, "]") : host));
  }
  server.paths_of_any_host = {"/healthz", "/readyz"};  // kubelets ask by a pod's address
  server.max_header_bytes = size_t{16} << 10;          // a GET has its message among them
  // Twice: what is a little too large gets an answer in the call's own protocol.
  server.max_body_bytes = 2 * options.max_message_bytes;
  server.max_buffered_bytes = 16 * options.max_message_bytes;
  server.max_connections = options.max_connections;
  server.write_timeout = absl::Seconds(60);
  return server;
}

// No answer of the door itself is a page, and none is shown in a frame.
constexpr char kNoPage[] = "default-src 'none'; frame-ancestors 'none'";

// As a call of a method that is not there, which Connect's clients understand.
http::Response NoSuchMethod() {
  return {.status = 404,
          .headers = {{"content-type", "application/json"}},
          .body = ConnectErrorJson(absl::UnimplementedError("the server has no such method"))};
}

http::Response Preflight(const http::Headers& common) {
  http::Response answer{.status = 204, .headers = common};
  answer.headers.emplace_back("access-control-allow-methods", "GET, POST");
  answer.headers.emplace_back(
      "access-control-allow-headers",
      "content-type, content-encoding, connect-protocol-version, connect-timeout-ms, "
      "connect-content-encoding, connect-accept-encoding, grpc-timeout, grpc-encoding, "
      "grpc-accept-encoding, x-grpc-web, x-user-agent, authorization");
  answer.headers.emplace_back("access-control-max-age", "600");
  return answer;
}

}  // namespace

HttpDoor::HttpDoor(const HttpDoorOptions& options, Desk* desk, Metrics* metrics, StaticFiles files)
    : options_(options), desk_(*desk), files_(std::move(files)), metrics_(*metrics) {}

absl::StatusOr<std::unique_ptr<HttpDoor>> HttpDoor::Open(const HttpDoorOptions& options, Desk* desk,
                                                         Metrics* metrics, const Log* log) {
  ASSIGN_OR_RETURN(StaticFiles files, StaticFiles::Read(options.files, options.prefix));
  std::unique_ptr<HttpDoor> door(new HttpDoor(options, desk, metrics, std::move(files)));
  http::ServerOptions server = ServerOptionsOf(options);
  server.takes_body = [door = door.get()](http::Request& head) { return door->TakesBody(head); };
  ASSIGN_OR_RETURN(
      door->server_,
      http::Server::Start(
          server,
          [door = door.get()](http::Request request, std::shared_ptr<http::Exchange> exchange) {
            door->Handle(std::move(request), std::move(exchange));
          },
          log));
  return door;
}

void HttpDoor::Close() { server_->Close(absl::Now() + kLastAnswers); }

void HttpDoor::Take(int descriptor, std::string peer, std::string host) {
  server_->Serve(descriptor, std::move(peer), std::move(host));
}

bool HttpDoor::Listed(std::string_view origin) const {
  return std::find(options_.origins.begin(), options_.origins.end(), origin) !=
         options_.origins.end();
}

bool HttpDoor::Foreign(const http::Request& request) const {
  const auto origin = request.Find("origin");
  if (origin.has_value()) {
    // The server's own pages: their origin is this host, as the browser itself names it.
    const std::string host = absl::AsciiStrToLower(ToAbsl(request.Find("host").value_or("")));
    const bool own =
        *origin == absl::StrCat("http://", host) || *origin == absl::StrCat("https://", host);
    return !own && !Listed(*origin);
  }
  // A GET that a page makes has no origin, but says this (in browsers since 2023).
  const std::string_view site = request.Find("sec-fetch-site").value_or("none");
  return site != "none" && site != "same-origin" &&
         request.Find("sec-fetch-mode").value_or("") != "navigate";
}

http::Headers HttpDoor::CommonHeaders(const http::Request& request) const {
  http::Headers headers = {{"x-content-type-options", "nosniff"},
                           {"referrer-policy", "no-referrer"}};
  const auto origin = request.Find("origin");
  if (!options_.origins.empty()) headers.emplace_back("vary", "origin");
  if (origin.has_value() && Listed(*origin)) {
    headers.emplace_back("access-control-allow-origin", *origin);
    headers.emplace_back("access-control-expose-headers",
                         "content-encoding, connect-content-encoding, grpc-status, grpc-message, "
                         "grpc-status-details-bin");
  }
  return headers;
}

bool HttpDoor::TakesBody(http::Request& head) const {
  http::Request request = head;
  TakeSession(request);
  const Method* const method = desk_.Find(request.path);
  if (method == nullptr) return false;
  CallContext call;
  desk_.Identify(CredentialsOf(request), call);
  const bool takes = call.identified.ok() || !method->permission.has_value();
  head.noted = std::move(call);
  return takes;
}

void HttpDoor::Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  http::Headers common = CommonHeaders(request);
  const auto send = [&](http::Response response) {
    response.headers.insert(response.headers.end(), common.begin(), common.end());
    exchange->Send(std::move(response));
  };
  if (Foreign(request)) {
    return send(http::PlainResponse(403, "pages of another origin may not call this server"));
  }
  if (request.method == "OPTIONS" && request.Find("origin").has_value() &&
      request.Find("access-control-request-method").has_value()) {
    return exchange->Send(Preflight(common));
  }
  if (request.path == kSessionPath && (request.method == "POST" || request.method == "DELETE")) {
    return send(ServeSession(desk_, request));
  }
  if (TakeSession(request)) common.emplace_back("cache-control", "no-store");
  if (const Method* const method = desk_.Find(request.path); method != nullptr) {
    return ServeRpc(desk_, *method, std::move(request), std::move(exchange),
                    options_.max_message_bytes, common);
  }
  if (request.method == "POST") return send(NoSuchMethod());
  if (request.method != "GET" && request.method != "HEAD") {
    return send(http::PlainResponse(405, "must be a GET or a POST"));
  }
  if (request.path.starts_with(kLogs)) {
    return ServeLogFile(desk_, std::string_view(request.path).substr(kLogs.size()), request,
                        std::move(exchange), common);
  }
  send(HandlePage(request));
}

// /healthz: calls are answered. /readyz: and all of it can be proved (Health::SetReady).
http::Response HttpDoor::HealthOf(const std::string& service) const {
  const bool good = desk_.health().Of(service) == grpc::health::v1::HealthCheckResponse::SERVING;
  return good ? http::PlainResponse(200, "ok") : http::PlainResponse(503, "not serving");
}

http::Response HttpDoor::HandlePage(const http::Request& request) {
  if (request.path == "/healthz") return HealthOf(kLedgers);
  if (request.path == "/readyz") return HealthOf("");
  if (request.path == "/metrics") {
    // Names of methods and their counts are for every known caller, with whatever rights.
    CallContext caller;
    desk_.Identify(CredentialsOf(request), caller);
    if (!caller.identified.ok()) {
      http::Response refused = http::PlainResponse(401, FromAbsl(caller.identified.message()));
      refused.headers.emplace_back("www-authenticate", "Bearer");
      return refused;
    }
    return {.headers = {{"content-type", "text/plain; version=0.0.4; charset=utf-8"},
                        {"cache-control", "no-store"}},
            .body = metrics_.Text()};
  }
  if (const http::Response* const file = files_.Find(request.path); file != nullptr) return *file;
  // An address of the page may name a thing in it, /ledger/default/a: the page finds out which. A
  // script that asks for a file which is not there must not get the page instead.
  const http::Response* const page = files_.Find("/");
  if (page != nullptr && request.Find("accept").value_or("").find("text/html") != std::string::npos)
    return *page;
  http::Response answer = http::PlainResponse(
      404, page == nullptr && request.path == "/"
               ? "this server shows no page: --http-files FOLDER names the page's folder, "
                 "build/release/dashboard where it was built, share/dpledger/page where it was "
                 "installed (docs/dashboard.md)"
               : "there is nothing at this path");
  answer.headers.emplace_back("content-security-policy", kNoPage);
  return answer;
}

}  // namespace dpledger::server
