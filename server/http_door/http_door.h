// The server's HTTP/1.1 door (docs/http.md): every method of the desk by the Connect protocol and
// gRPC-Web, the logs' files as C2SP tlog-tiles names them, health, metrics, and a page's files.
//
// Connections come from the front, whose TLS has ended; a port of the door's own is plain text and
// stays on loopback. So that no page of a browser can use the server behind its user's back, the
// header host must name this server, and a request that a page of another origin makes is refused
// unless the origin is listed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "http/server.h"
#include "server/desk/desk.h"
#include "server/http_door/files.h"
#include "server/log.h"
#include "server/metrics/metrics.h"

namespace dpledger::server {

struct HttpDoorOptions {
  std::string address;               // IP:PORT; port 0 picks one; empty: no port of its own
  std::vector<std::string> hosts;    // names of this server, beside those of loopback
  std::vector<std::string> origins;  // "https://page.example": whose pages may call
  std::string files;                 // a folder; empty: no page
  std::string prefix = "/";          // where browsers find the page (StaticFiles::Read)
  size_t max_connections = 256;
  size_t max_message_bytes = size_t{4} << 20;
};

class HttpDoor {
 public:
  // `desk`, `metrics` and `log` must outlive the door. Errors of StaticFiles::Read and
  // http::Server::Start.
  static absl::StatusOr<std::unique_ptr<HttpDoor>> Open(const HttpDoorOptions& options, Desk* desk,
                                                        Metrics* metrics, const Log* log);

  std::string address() const { return server_->address(); }
  // Serves a connected stream socket, and owns it from here on. `peer` tells who is behind it, as
  // Credentials::peer; `host` is whose share of what there is it takes (http::Server::Serve).
  void Take(int descriptor, std::string peer, std::string host);

  // Takes no more, sends what the desk has answered, and cancels the rest.
  void Close();

 private:
  HttpDoor(const HttpDoorOptions& options, Desk* desk, Metrics* metrics, StaticFiles files);

  // Whether the body of a request is worth keeping: who sends it is asked for before that.
  bool TakesBody(http::Request& head) const;
  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange);
  http::Response HandlePage(const http::Request& request);
  http::Response HealthOf(const std::string& service) const;
  // Whether a page of another origin made the request, that is not listed.
  bool Foreign(const http::Request& request) const;
  // What every answer has.
  http::Headers CommonHeaders(const http::Request& request) const;
  bool Listed(std::string_view origin) const;

  const HttpDoorOptions options_;
  Desk& desk_;
  const StaticFiles files_;
  Metrics& metrics_;
  std::unique_ptr<http::Server> server_;  // last: it calls Handle until it is gone
};

}  // namespace dpledger::server
