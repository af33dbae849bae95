#include "http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/address.h"
#include "base/status.h"
#include "http/connections.h"

namespace dpledger::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Between attempts when the process has no descriptors left.
constexpr auto kAcceptAgain = std::chrono::milliseconds(100);

absl::StatusOr<asio::ip::tcp::endpoint> EndpointOf(const std::string& address) {
  const std::optional<Address> parsed = ParseAddress(address);
  error_code error;
  const auto ip = asio::ip::make_address(parsed ? parsed->host : "", error);
  if (error) return FieldError("listen", absl::StrCat("must be IP:PORT, got ", address));
  return asio::ip::tcp::endpoint(ip, parsed->port);
}

std::string TextOf(const asio::ip::tcp::endpoint& endpoint) {
  const std::string ip = endpoint.address().to_string();
  return endpoint.address().is_v6() ? absl::StrCat("[", ip, "]:", endpoint.port())
                                    : absl::StrCat(ip, ":", endpoint.port());
}

class ListeningServer final : public Server {
 public:
  ListeningServer(const ServerOptions& options, Handler handler, const Log* log)
      : log_(*log), shared_(std::make_shared<Connections>(options, std::move(handler), log)) {}
  ~ListeningServer() override { Close(absl::InfinitePast()); }

  absl::Status Listen();
  void Run();
  void Serve(int descriptor, std::string peer, std::string host) override;
  void Close(absl::Time deadline) override;
  std::string address() const override { return address_; }
  size_t connections() const override { return shared_->size(); }

 private:
  void Accept();

  const Log& log_;
  const std::shared_ptr<Connections> shared_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{shared_->io().get_executor()};
  // The acceptor and its timer: one at a time.
  asio::strand<asio::io_context::executor_type> strand_{shared_->io().get_executor()};
  asio::ip::tcp::acceptor acceptor_{strand_};
  asio::steady_timer accept_again_{strand_};
  std::string address_;
  std::vector<std::thread> threads_;
};

absl::Status ListeningServer::Listen() {
  const std::string& asked = shared_->options().address;
  if (asked.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const asio::ip::tcp::endpoint endpoint, EndpointOf(asked));
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return absl::UnavailableError(absl::StrCat("listen ", asked, ": ", error.message()));
  }
  address_ =
      absl::StrCat(asked.substr(0, asked.rfind(':')), ":", acceptor_.local_endpoint(error).port());
  return absl::OkStatus();
}

void ListeningServer::Run() {
  if (!address_.empty()) {
    asio::post(strand_, [this] { Accept(); });
  }
  shared_->Sweep();
  const int threads = std::max(1, shared_->options().threads);
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([shared = shared_] { shared->io().run(); });
  }
}

void ListeningServer::Accept() {
  acceptor_.async_accept([this](error_code error, asio::ip::tcp::socket socket) {
    if (shared_->stopping() || error == asio::error::operation_aborted) return;
    if (!error) {
      const asio::ip::tcp::endpoint peer = socket.remote_endpoint(error);
      const int descriptor = error ? -1 : socket.release(error);
      if (descriptor >= 0) {
        const std::string text = TextOf(peer);
        Serve(descriptor, text, NetworkOf(text));
      }
      return Accept();
    }
    log_.Write(LogLevel::kWarning, "accept_failed", {{"message", error.message()}});
    accept_again_.expires_after(kAcceptAgain);
    accept_again_.async_wait([this](error_code) {
      if (!shared_->stopping()) Accept();
    });
  });
}

void ListeningServer::Serve(int descriptor, std::string peer, std::string host) {
  int domain = AF_INET;
  socklen_t size = sizeof(domain);
  getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  if (domain == AF_INET || domain == AF_INET6) {
    const int on = 1;  // an answer is one write: nothing is gained by waiting for more
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  Connections::Socket socket(shared_->io());
  error_code error;
  socket.assign(asio::generic::stream_protocol(domain, 0), descriptor, error);
  if (error) {
    log_.Write(LogLevel::kWarning, "connection_failed", {{"message", error.message()}});
    close(descriptor);
    return;
  }
  shared_->Take(std::move(socket), std::move(peer), std::move(host));
}

void ListeningServer::Close(absl::Time deadline) {
  if (threads_.empty()) return;
  asio::post(strand_, [this] {
    error_code ignored;
    acceptor_.close(ignored);
    accept_again_.cancel();
  });
  shared_->Close(deadline);
  work_.reset();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, Handler handler,
                                                      const Log* log) {
  auto server = std::make_unique<ListeningServer>(options, std::move(handler), log);
  RETURN_IF_ERROR(server->Listen());
  server->Run();
  return server;
}

}  // namespace dpledger::http
