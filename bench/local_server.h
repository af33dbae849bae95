// The whole server in this process, on free loopback ports.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/program.h"
#include "grpcpp/grpcpp.h"
#include "ledger_store/embedded/embedded_store.h"
#include "server/server.h"

namespace dpledger::bench {

class LocalServer {
 public:
  // With the embedded store in the folder, or with the given one, and what else it keeps beside
  // that folder.
  explicit LocalServer(const std::string& folder, server::ServerOptions options = {})
      : LocalServer(Must(OpenEmbeddedStore({.folder = folder})), folder, std::move(options)) {}
  LocalServer(std::unique_ptr<LedgerStore> store, const std::string& folder,
              server::ServerOptions options = {})
      : log_(server::LogLevel::kError, 2), store_(*store) {
    options.front.address = "127.0.0.1:0";
    options.http.address = "127.0.0.1:0";
    options.signing = server::SigningOptions::Beside(folder);
    server_ = Must(server::Server::Start(options, std::move(store), &log_));
  }

  LedgerStore& store() { return store_; }
  int port() const { return server_->port(); }
  std::string http_address() const { return server_->http_address(); }
  std::shared_ptr<grpc::Channel> Connect() const {
    return grpc::CreateChannel(absl::StrCat("127.0.0.1:", port()),
                               grpc::InsecureChannelCredentials());
  }

 private:
  const server::Log log_;
  LedgerStore& store_;
  std::unique_ptr<server::Server> server_;
};

}  // namespace dpledger::bench
