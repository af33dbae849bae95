#include "front/front.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/absl_view.h"
#include "base/rare_log.h"
#include "base/status.h"
#include "front/networks.h"
#include "front/peer_table.h"
#include "front/relay.h"
#include "front/tls.h"

namespace dpledger::front {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kDescriptorsPerConnection = 3;
constexpr size_t kLeastConnections = 16;
// Between attempts when the process has no descriptors left.
constexpr auto kAcceptAgain = std::chrono::milliseconds(100);
constexpr absl::Duration kAcceptsWithin = absl::Seconds(2);
constexpr auto kSweep = std::chrono::milliseconds(500);

absl::StatusOr<tcp::endpoint> Resolve(const std::string& address) {
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  std::string host = address.substr(0, std::min(colon, address.size()));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (colon == std::string::npos || host.empty() ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port > 65535) {
    return FieldError("listen", absl::StrCat("must be HOST:PORT, got ", address));
  }
  asio::io_context io;
  tcp::resolver resolver(io);
  error_code error;
  const auto found = resolver.resolve(host, absl::StrCat(port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    return FieldError("listen", absl::StrCat("must be an address of this machine, got ", address,
                                             " (", error.message(), ")"));
  }
  return found.begin()->endpoint();
}

// One thread and the connections that it serves.
struct Lane {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  asio::steady_timer sweep{io};
  std::map<Relay*, std::weak_ptr<Relay>> relays;  // of the lane's thread alone
  std::thread thread;
};

class ListeningFront final : public Front {
 public:
  ListeningFront(const FrontOptions& options, const Log* log)
      : options_(options),
        log_(*log),
        refused_(log, "connection_refused"),
        peers_({options.max_connections, options.max_connections_per_host, options.allowance}) {
    for (int i = 0; i < std::max(1, options.threads); ++i)
      lanes_.push_back(std::make_unique<Lane>());
    acceptor_ = std::make_unique<tcp::acceptor>(lanes_.front()->io);
    accept_again_ = std::make_unique<asio::steady_timer>(lanes_.front()->io);
  }

  ~ListeningFront() override {
    for (const auto& lane : lanes_) lane->io.stop();
    for (const auto& lane : lanes_) {
      if (lane->thread.joinable()) lane->thread.join();
    }
  }

  absl::Status Listen();
  void Start(Door http2, Door http1) override;
  void Close() override;

  int port() const override { return bound_.port(); }
  std::shared_ptr<const Peer> Find(const std::string& name) const override {
    return peers_.Find(std::string(absl::StripPrefix(name, "unix-abstract:")));
  }
  FrontFigures figures() const override;
  bool Accepts() const override;

 private:
  void Run(Lane& lane);
  void Accept();
  void Take(Lane& lane, tcp::socket socket);
  void Sweep(Lane& lane);
  // `more`: what the words for it do not say.
  void Complain(const Peer& peer, Closing why, std::string_view more = "") {
    ++ended_[static_cast<size_t>(why)];
    refused_.Write(peer.address, "",
                   absl::StrCat(WordsOf(why).meaning, more.empty() ? "" : ": ", ToAbsl(more)));
  }

  const FrontOptions options_;
  const Log& log_;
  RareLog refused_;
  Networks trusted_;
  PeerTable peers_;
  RelayHome home_;
  std::unique_ptr<TlsContext> tls_;  // null: plain text
  tcp::endpoint bound_;
  std::atomic<uint64_t> accepted_ = 0;
  std::array<std::atomic<uint64_t>, kClosings.size()> ended_ = {};
  std::atomic<bool> closed_ = false;

  // Last: what runs on the lanes uses all of the above. The acceptor goes before its lane.
  std::vector<std::unique_ptr<Lane>> lanes_;
  size_t next_lane_ = 0;  // of the acceptor's thread
  std::unique_ptr<tcp::acceptor> acceptor_;
  std::unique_ptr<asio::steady_timer> accept_again_;
};

absl::Status ListeningFront::Listen() {
  ASSIGN_OR_RETURN(trusted_, Networks::Parse(options_.trusted_proxies));
  if (!options_.tls.certificate.empty()) {
    ASSIGN_OR_RETURN(tls_, TlsContext::Load(options_.tls, &log_));
  }
  ASSIGN_OR_RETURN(const tcp::endpoint endpoint, Resolve(options_.address));
  error_code error;
  acceptor_->open(endpoint.protocol(), error);
  if (!error) acceptor_->set_option(asio::socket_base::reuse_address(true), error);
  if (!error && endpoint.address().is_v6()) {
    acceptor_->set_option(asio::ip::v6_only(!endpoint.address().is_unspecified()), error);
  }
  if (!error) acceptor_->bind(endpoint, error);
  if (!error) acceptor_->listen(asio::socket_base::max_listen_connections, error);
  if (!error) bound_ = acceptor_->local_endpoint(error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", options_.address, ": ", error.message()));
  }
  return absl::OkStatus();
}

void ListeningFront::Start(Door http2, Door http1) {
  home_ = {.peers = &peers_,
           .options = &options_,
           .http2 = std::move(http2),
           .http1 = std::move(http1),
           .complain = [this](const Peer& peer, Closing why, std::string_view more) {
             Complain(peer, why, more);
           }};
  asio::post(lanes_.front()->io, [this] { Accept(); });
  for (const auto& lane : lanes_) {
    asio::post(lane->io, [this, at = lane.get()] { Sweep(*at); });
    lane->thread = std::thread([this, at = lane.get()] { Run(*at); });
  }
}

void ListeningFront::Run(Lane& lane) {
  while (true) {
    // Asio throws where it finds no memory or no descriptor; that ends one connection, not all.
    try {
      lane.io.run();
      return;
    } catch (const std::exception& error) {
      Complain({}, Closing::kFailed, error.what());
    }
  }
}

void ListeningFront::Close() {
  if (closed_.exchange(true)) return;
  asio::post(lanes_.front()->io, [this] {
    error_code ignored;
    acceptor_->close(ignored);
    accept_again_->cancel();
  });
}

void ListeningFront::Accept() {
  if (closed_) return;
  Lane& lane = *lanes_[next_lane_++ % lanes_.size()];
  acceptor_->async_accept(lane.io, [this, &lane](error_code error, tcp::socket socket) {
    if (closed_) return;
    if (!error) {
      ++accepted_;
      Take(lane, std::move(socket));
      return Accept();
    }
    Complain({}, Closing::kNotAccepted, error.message());
    accept_again_->expires_after(kAcceptAgain);
    accept_again_->async_wait([this](error_code) { Accept(); });
  });
}

void ListeningFront::Take(Lane& lane, tcp::socket socket) {
  error_code error;
  const tcp::endpoint remote = socket.remote_endpoint(error);
  if (error) return;  // gone already
  Peer peer = PeerAt(remote.address(), remote.port());
  peer.encrypted = tls_ != nullptr;
  const bool trusted = trusted_.Contain(remote.address());
  if (trusted) peer.host.clear();
  peer.forwards = trusted && !options_.proxy_protocol;
  const std::optional<Closing> refused = peers_.Enter(peer.host, absl::Now());
  if (refused.has_value()) return Complain(peer, *refused);
  const std::shared_ptr<Relay> relay =
      MakeRelay(std::move(socket), std::move(peer), trusted && options_.proxy_protocol,
                tls_ == nullptr ? nullptr : tls_->Current(), &home_);
  asio::post(lane.io, [&lane, relay] {
    lane.relays[relay.get()] = relay;
    relay->Start();
  });
}

void ListeningFront::Sweep(Lane& lane) {
  const absl::Time now = absl::Now();
  const auto tls = tls_ == nullptr ? nullptr : tls_->Current();
  for (auto at = lane.relays.begin(); at != lane.relays.end();) {
    const std::shared_ptr<Relay> relay = at->second.lock();
    if (relay != nullptr) relay->Look(now, tls.get());
    at = relay == nullptr ? lane.relays.erase(at) : std::next(at);
  }
  if (&lane == lanes_.front().get()) peers_.Sweep(now);
  lane.sweep.expires_after(kSweep);
  lane.sweep.async_wait([this, &lane](error_code failed) {
    if (!failed) Sweep(lane);
  });
}

FrontFigures ListeningFront::figures() const {
  FrontFigures figures;
  figures.connections = peers_.size();
  figures.accepted = accepted_;
  for (size_t i = 0; i < ended_.size(); ++i) figures.ended[i] = ended_[i];
  if (tls_ == nullptr) return figures;
  figures.reload_failures = tls_->failures();
  figures.certificate_ends = tls_->ends();
  return figures;
}

bool ListeningFront::Accepts() const {
  const uint64_t before = accepted_;
  tcp::endpoint target = bound_;
  if (target.address().is_unspecified()) {
    target.address(target.address().is_v6() ? asio::ip::address(asio::ip::address_v6::loopback())
                                            : asio::ip::address(asio::ip::address_v4::loopback()));
  }
  // A connection that is established tells of the kernel's queue; one that is counted, of us.
  asio::io_context& io = lanes_.front()->io;
  asio::post(io, [&io, target] {
    const auto probe = std::make_shared<tcp::socket>(io);
    probe->async_connect(target, [probe](error_code) {});
  });
  const absl::Time until = absl::Now() + kAcceptsWithin;
  while (accepted_ == before && absl::Now() < until) absl::SleepFor(absl::Milliseconds(5));
  return accepted_ != before;
}

}  // namespace

absl::StatusOr<size_t> ConnectionsFor(size_t wanted, size_t descriptors, size_t reserved) {
  const size_t left = descriptors > reserved ? descriptors - reserved : 0;
  const size_t possible = left / kDescriptorsPerConnection;
  if (std::min(wanted, possible) >= std::min(wanted, kLeastConnections) && possible > 0)
    return std::min(wanted, possible);
  return absl::ResourceExhaustedError(
      absl::StrCat("the process may open ", descriptors, " files (ulimit -n), ", reserved,
                   " of them for the store: too few for connections; it needs at least ",
                   reserved + kDescriptorsPerConnection * std::min(wanted, kLeastConnections)));
}

absl::StatusOr<std::unique_ptr<Front>> Front::Listen(const FrontOptions& options, const Log* log) {
  auto front = std::make_unique<ListeningFront>(options, log);
  RETURN_IF_ERROR(front->Listen());
  return front;
}

}  // namespace dpledger::front
