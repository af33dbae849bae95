// The whole server in this process, on free loopback ports.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/program.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
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

// How many ledgers with an ε are on so many pages of a list; all there are by default.
inline int CountListed(v1::LedgerService::Stub& ledgers, const std::string& filter,
                       const std::string& order_by = "", int pages = 1'000'000,
                       uint32_t page_size = 1000) {
  int found = 0;
  v1::ListLedgersRequest request;
  request.set_parent("projects/-");
  request.set_page_size(page_size);
  request.set_filter(filter);
  request.set_order_by(order_by);
  do {
    grpc::ClientContext context;
    v1::ListLedgersResponse page;
    const grpc::Status status = ledgers.ListLedgers(&context, request, &page);
    if (!status.ok()) Die(status.error_message());
    for (const v1::LedgerSummary& summary : page.summaries()) found += summary.has_epsilon();
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && --pages > 0);
  return found;
}

}  // namespace dpledger::bench
