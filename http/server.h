// An HTTP/1.1 server that bears hostile clients: every request is bounded in bytes, headers and
// time, and so are the connections, in all and by address.
//
//  1. A request reaches the handler whole, decoded, and only if every reader on its way must read
//     it the same (http/head.h). Requests of one connection come one after the other.
//  2. A client that is slow, at sending a request or at reading its answer, loses its connection
//     after the time that the options give; so does one that is idle.
//  3. Bodies of requests that are not answered yet take at most `max_buffered_bytes`, those of one
//     address a quarter of it, or one body; then 503.
//
// TLS is not here: something before the server ends it and hands the plaintext over (Serve).
// Thread safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "http/message.h"

namespace dpledger::http {

struct ServerOptions {
  // IP:PORT, [IP]:PORT; port 0 picks a free one. Empty: no listener, only Serve.
  std::string address = "127.0.0.1:0";
  // Names that the header host may have (HostAllowed). Empty: any. A page of a foreign name that
  // now resolves to this machine sends its own name (DNS rebinding), and is refused with 421.
  std::vector<std::string> hosts;
  std::vector<std::string> paths_of_any_host;  // nothing there is worth hiding from such a page
  size_t max_header_bytes = 8192;              // of the request line and all headers
  size_t max_headers = 64;
  size_t max_body_bytes = size_t{4} << 20;       // without the chunks' own bytes
  size_t max_buffered_bytes = size_t{64} << 20;  // of bodies; of one address a quarter, or one body
  size_t max_connections = 64;                   // more are closed at once
  size_t max_connections_by_address = 0;         // 0: as max_connections
  absl::Duration idle_timeout = absl::Seconds(60);   // until a request's first byte
  absl::Duration read_timeout = absl::Seconds(15);   // from its first byte to its last
  absl::Duration write_timeout = absl::Seconds(15);  // for an answer, or one Write of it
  int threads = 2;                                   // that read, write, and call the handler
  // Asked of a request that has a body, before anything of it is kept: whether it is read. If not,
  // the handler gets the request a second later without it, and the connection ends after the
  // answer. It may note what it found out in the request. Null: all are.
  std::function<bool(Request& head)> takes_body = nullptr;
};

// Called on one of the server's threads, and holds up other connections while it runs: what takes
// long goes on elsewhere, with the exchange.
using Handler = std::function<void(Request request, std::shared_ptr<Exchange> exchange)>;

class Server {
 public:
  // Serves when it returns. INVALID_ARGUMENT for an address of another form; UNAVAILABLE with the
  // system's error if it cannot be listened on. `log` must outlive the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       Handler handler, const Log* log);
  virtual ~Server() = default;  // Close(InfinitePast)

  // The host as asked and the port that was taken; empty without a listener.
  virtual std::string address() const = 0;

  // Serves a connected stream socket, which the server owns from here on. `peer` is what requests
  // tell of who sent them; `host` is whose share of connections and bodies they take. An empty host
  // is nobody's: it takes of what there is for all.
  virtual void Serve(int descriptor, std::string peer, std::string host) = 0;

  virtual size_t connections() const = 0;

  // Takes no new connection, ends the idle ones, and lets each of the others finish the answer
  // under way; cancels what is left at `deadline`. The handler is not called after this. Once.
  virtual void Close(absl::Time deadline) = 0;
};

}  // namespace dpledger::http
