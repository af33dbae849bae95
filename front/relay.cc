#include "front/relay.h"

#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/address.h"
#include "front/http2_frames.h"
#include "front/networks.h"
#include "front/proxy_header.h"
#include "front/tls.h"

namespace dpledger::front {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using TlsStream = asio::ssl::stream<tcp::socket>;

constexpr size_t kFirstBuffer = size_t{8} << 10;
constexpr size_t kMaxBuffer = size_t{64} << 10;
// Frames other than DATA are as long as HTTP/2 allows without asking.
constexpr uint32_t kMaxControlFrame = 16384;
// For the client's own end of an answered connection.
constexpr absl::Duration kLinger = absl::Seconds(2);
constexpr absl::Duration kLookAgain = absl::Minutes(1);

// GOAWAY, ENHANCE_YOUR_CALM (RFC 9113, sections 6.8 and 7).
constexpr char kGoAwayFrame[] = "\0\0\x08\x07\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\x0b";

struct Pair {
  int ours = -1, doors = -1;
  std::string name;  // of our end, as the door's end sees it
};

// A socket pair whose first end bears a name that nobody can guess. A transport tells its peers
// apart by names, and unnamed pairs have none.
std::optional<Pair> MakePair() {
  unsigned char random[16];
  if (RAND_bytes(random, sizeof(random)) != 1) return std::nullopt;
  Pair pair;
  pair.name = absl::StrCat("dpledger-", absl::BytesToHexString(absl::string_view(
                                            reinterpret_cast<const char*>(random), 16)));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return std::nullopt;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // An abstract name: begins with a zero byte, and is in no folder (unix(7)).
  std::copy(pair.name.begin(), pair.name.end(), address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + pair.name.size());
  if (bind(ends[0], reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    close(ends[0]);
    close(ends[1]);
    return std::nullopt;
  }
  pair.ours = ends[0];
  pair.doors = ends[1];
  return pair;
}

std::string CertificateOf(SSL* handle) {
  X509* const certificate = SSL_get1_peer_certificate(handle);
  if (certificate == nullptr) return "";
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate, &bytes);
  std::string der(reinterpret_cast<const char*>(bytes), std::max(size, 0));
  OPENSSL_free(bytes);
  X509_free(certificate);
  return der;
}

template <typename Stream>
class StreamRelay : public Relay, public std::enable_shared_from_this<StreamRelay<Stream>> {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  StreamRelay(tcp::socket socket, Peer peer, bool proxied, std::shared_ptr<asio::ssl::context> tls,
              const RelayHome* home)
      : tls_(std::move(tls)),
        trusted_by_(tls_.get()),
        client_(MakeStream(std::move(socket), tls_.get())),
        door_(client_.get_executor()),
        peer_(std::move(peer)),
        home_(*home),
        allowance_(home_.options->allowance, absl::Now()),
        up_(kFirstBuffer),
        down_(kFirstBuffer) {
    if (proxied) header_.emplace();
  }

  ~StreamRelay() override {
    if (!name_.empty()) home_.peers->Unname(name_);
    if (entered_) home_.peers->Leave(peer_.host);
  }

  void Start() override {
    error_code ignored;
    socket().set_option(tcp::no_delay(true), ignored);
    deadline_ = absl::Now() + home_.options->handshake;
    if (header_.has_value()) return ReadHeader();
    Shake();
  }

  void Look(absl::Time now, const asio::ssl::context* tls) override {
    if (!StillTrusted(tls, now)) return EndAs(Closing::kCertificate);
    if (now >= deadline_) EndAs(handed_over_ ? Closing::kReadsNothing : Closing::kNoRequest);
  }

  void End() {
    error_code ignored;
    socket().close(ignored);
    door_.close(ignored);
    deadline_ = absl::InfiniteFuture();
  }

 private:
  static Stream MakeStream(tcp::socket socket, [[maybe_unused]] asio::ssl::context* tls) {
    if constexpr (kTls) {
      return TlsStream(std::move(socket), *tls);
    } else {
      return socket;
    }
  }

  tcp::socket& socket() {
    if constexpr (kTls) {
      return client_.next_layer();
    } else {
      return client_;
    }
  }

  void EndAs(Closing why, std::string_view more = "") {
    home_.complain(peer_, why, more);
    End();
  }

  void ReadHeader() {
    asio::async_read(socket(), asio::buffer(up_.data(), header_->wants()),
                     [self = this->shared_from_this()](error_code error, size_t size) {
                       if (error) return self->End();
                       self->OnHeader(size);
                     });
  }

  void OnHeader(size_t size) {
    if (!header_->Take({up_.data(), size})) return EndAs(Closing::kNoProxyHeader);
    if (header_->wants() > 0) return ReadHeader();
    if (header_->client().has_value()) {
      Peer client = PeerAt(header_->client()->address(), header_->client()->port());
      client.encrypted = peer_.encrypted;
      home_.peers->Leave(peer_.host);
      const std::optional<Closing> refused = home_.peers->Enter(client.host, absl::Now());
      // A connection that was not admitted has nothing to leave.
      peer_ = client;
      entered_ = !refused.has_value();
      if (!entered_) return EndAs(*refused);
    }
    Shake();
  }

  void Shake() {
    if constexpr (kTls) {
      client_.async_handshake(
          asio::ssl::stream_base::server, [self = this->shared_from_this()](error_code error) {
            if (!error) return self->OnHandshake();
            // A client that only hung up needs no line in the log.
            if (error.category() != asio::error::get_ssl_category()) return self->End();
            const long why = SSL_get_verify_result(self->client_.native_handle());
            self->EndAs(Closing::kHandshake,
                        why == X509_V_OK ? error.message() : X509_verify_cert_error_string(why));
          });
    } else {
      ReadUp();
    }
  }

  // Whether the client's certificate, if it showed one, is good by `tls`. Looked at once for each,
  // and again each minute: lists of those that were taken back end.
  bool StillTrusted([[maybe_unused]] const asio::ssl::context* tls,
                    [[maybe_unused]] absl::Time now) {
    if constexpr (kTls) {
      if (peer_.certificate.empty() || (tls == trusted_by_ && now < trusted_until_)) return true;
      trusted_by_ = tls;
      trusted_until_ = now + kLookAgain;
      return Verifies(const_cast<asio::ssl::context*>(tls)->native_handle(),
                      client_.native_handle());
    }
    return true;
  }

  void OnHandshake() {
    if constexpr (kTls) {
      peer_.certificate = CertificateOf(client_.native_handle());
      const unsigned char* name = nullptr;
      unsigned int size = 0;
      SSL_get0_alpn_selected(client_.native_handle(), &name, &size);
      if (size > 0) http2_ = std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
    }
    ReadUp();
  }

  // From the client to the door.

  void ReadUp() {
    reading_ = true;
    client_.async_read_some(asio::buffer(up_.data() + kept_, up_.size() - kept_),
                            [self = this->shared_from_this()](error_code error, size_t size) {
                              self->reading_ = false;
                              self->OnReadUp(error, size);
                            });
  }

  void OnReadUp(error_code error, size_t size) {
    if (closing_) return closing_ready_ ? Discard(error) : BeginShutdown();
    if (error) {
      // The client has ended its side; the door may still be answering.
      const bool ended = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
      if (!handed_over_ || !ended) return End();
      error_code ignored;
      door_.shutdown(asio::socket_base::shutdown_send, ignored);
      return;
    }
    size += kept_;
    kept_ = 0;
    const std::string_view bytes(up_.data(), size);
    if (!handed_over_) {
      if (!http2_.has_value()) {
        const size_t compared = std::min(bytes.size(), kHttp2Preface.size());
        const bool looks_like = bytes.substr(0, compared) == kHttp2Preface.substr(0, compared);
        if (looks_like && compared < kHttp2Preface.size()) {
          kept_ = size;
          return ReadUp();
        }
        http2_ = looks_like;
      }
      if (!HandOver()) return End();
    }
    if (*http2_ && !Bears(bytes)) return SendAway();
    asio::async_write(door_, asio::buffer(bytes.data(), bytes.size()),
                      [self = this->shared_from_this(), size](error_code failed, size_t) {
                        if (self->closing_) return self->BeginShutdown();
                        if (failed) return;  // the door has closed: the other direction ends it
                        if (size == self->up_.size() && size < kMaxBuffer)
                          self->up_.resize(2 * size);
                        self->ReadUp();
                      });
  }

  bool HandOver() {
    const Door& door = *http2_ ? home_.http2 : home_.http1;
    if (!door) return false;
    const std::optional<Pair> pair = MakePair();
    if (!pair.has_value()) {
      home_.complain(peer_, Closing::kNoDescriptors, "");
      return false;
    }
    error_code error;
    door_.assign(asio::local::stream_protocol(), pair->ours, error);
    name_ = pair->name;
    home_.peers->Name(name_, std::make_shared<const Peer>(peer_));
    handed_over_ = true;
    deadline_ = absl::InfiniteFuture();
    door(pair->doors, name_);
    ReadDown();
    return true;
  }

  // Whether the client may still send such frames.
  bool Bears(std::string_view bytes) {
    double cost = 0;
    bool too_long = false;
    up_frames_.Read(bytes, [&](const FrameHeader& frame) {
      cost += CostOf(frame);
      too_long |= frame.type != kData && frame.length > kMaxControlFrame;
    });
    if (too_long) {
      home_.complain(peer_, Closing::kLongFrame, "");
      return false;
    }
    if (cost == 0) return true;
    const absl::Time now = absl::Now();
    const bool own = allowance_.Take(cost, now);
    const bool hosts = home_.peers->Take(peer_.host, cost, now);
    if (!own || !hosts) home_.complain(peer_, Closing::kTooManyFrames, "");
    return own && hosts;
  }

  void SendAway() {
    if (writing_ || !down_frames_.between_frames()) return End();
    error_code ignored;
    door_.close(ignored);
    writing_ = true;
    deadline_ = absl::Now() + kLinger;
    asio::async_write(client_, asio::buffer(kGoAwayFrame, sizeof(kGoAwayFrame) - 1),
                      [self = this->shared_from_this()](error_code, size_t) { self->End(); });
  }

  // From the door to the client.

  void ReadDown() {
    door_.async_read_some(asio::buffer(down_),
                          [self = this->shared_from_this()](error_code error, size_t size) {
                            self->OnReadDown(error, size);
                          });
  }

  void OnReadDown(error_code error, size_t size) {
    if (writing_) return;  // a farewell is on its way
    if (error) return Shutdown();
    if (*http2_) down_frames_.Read({down_.data(), size}, [](const FrameHeader&) {});
    writing_ = true;
    deadline_ = absl::Now() + home_.options->stalled;
    asio::async_write(client_, asio::buffer(down_.data(), size),
                      [self = this->shared_from_this(), size](error_code failed, size_t) {
                        self->writing_ = false;
                        if (failed) return self->End();
                        self->deadline_ = absl::InfiniteFuture();
                        if (size == self->down_.size() && size < kMaxBuffer)
                          self->down_.resize(2 * size);
                        self->ReadDown();
                      });
  }

  // The door has ended its side, and all that it said has been sent.
  void Shutdown() {
    if (!socket().is_open()) return;
    closing_ = true;
    deadline_ = absl::Now() + kLinger;
    error_code ignored;
    // TLS may read while it says farewell, so nothing else may read then.
    if (reading_) {
      socket().cancel(ignored);
    } else {
      BeginShutdown();
    }
  }

  void BeginShutdown() {
    if (!socket().is_open() || closing_ready_) return;
    closing_ready_ = true;
    if constexpr (kTls) {
      client_.async_shutdown([self = this->shared_from_this()](error_code) { self->End(); });
    } else {
      // Closing a socket with bytes unread would take back what the client has not read yet.
      error_code ignored;
      socket().shutdown(asio::socket_base::shutdown_send, ignored);
      Discard({});
    }
  }

  void Discard(error_code error) {
    if (error && error != asio::error::operation_aborted) return End();
    kept_ = 0;
    ReadUp();
  }

  const std::shared_ptr<asio::ssl::context> tls_;
  const asio::ssl::context* trusted_by_;  // that the client's certificate was last good by
  absl::Time trusted_until_ = absl::Now() + kLookAgain;
  Stream client_;
  asio::local::stream_protocol::socket door_;
  Peer peer_;
  std::optional<ProxyHeader> header_;  // that the connection begins with
  bool entered_ = true;                // among the peers of `home_`, under peer_.host
  const RelayHome& home_;
  Allowance allowance_;
  std::string name_;
  absl::Time deadline_ = absl::InfiniteFuture();

  std::vector<char> up_, down_;
  size_t kept_ = 0;            // bytes of up_ that did not tell the protocol yet
  std::optional<bool> http2_;  // unset: not known yet
  FrameReader up_frames_{kHttp2Preface.size()};
  FrameReader down_frames_;
  bool handed_over_ = false;
  bool reading_ = false;        // from the client
  bool writing_ = false;        // to the client
  bool closing_ = false;        // the door has ended
  bool closing_ready_ = false;  // and the farewell has begun
};

}  // namespace

Peer PeerAt(const asio::ip::address& address, uint16_t port) {
  const std::string text = TextOf(address, port);
  return {.address = text, .host = NetworkOf(text), .certificate = ""};
}

std::shared_ptr<Relay> MakeRelay(tcp::socket socket, Peer peer, bool proxied,
                                 std::shared_ptr<asio::ssl::context> tls, const RelayHome* home) {
  if (tls == nullptr) {
    return std::make_shared<StreamRelay<tcp::socket>>(std::move(socket), std::move(peer), proxied,
                                                      nullptr, home);
  }
  return std::make_shared<StreamRelay<TlsStream>>(std::move(socket), std::move(peer), proxied,
                                                  std::move(tls), home);
}

}  // namespace dpledger::front
