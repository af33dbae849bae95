// The whole server in this process, on a free loopback port, with the embedded store in a folder.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "bench/program.h"
#include "ledger_store/embedded/embedded_store.h"
#include "server/server.h"

namespace dpledger::bench {

class LocalServer {
 public:
  explicit LocalServer(const std::string& folder,
                       server::ServerOptions options = server::ServerOptions())
      : log_(server::LogLevel::kError, 2) {
    auto store = OpenEmbeddedStore({.folder = folder});
    Check(store.status());
    options.front.address = "127.0.0.1:0";
    options.http.address = "127.0.0.1:0";
    options.signing = server::SigningOptions::Beside(folder);
    auto started = server::Server::Start(options, *std::move(store), &log_);
    Check(started.status());
    server_ = *std::move(started);
  }

  int port() const { return server_->port(); }
  std::string http_address() const { return server_->http_address(); }

 private:
  const server::Log log_;
  std::unique_ptr<server::Server> server_;
};

}  // namespace dpledger::bench
