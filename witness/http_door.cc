#include "witness/http_door.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <csignal>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "witness/http_request.h"

namespace dpledger::witness {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using Response = http::response<http::string_body>;

// Between attempts when the process has no descriptors left.
constexpr auto kAcceptAgain = std::chrono::milliseconds(100);

absl::StatusOr<asio::ip::tcp::endpoint> ParseAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  std::string host = address.substr(0, std::min(colon, address.size()));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  error_code error;
  const auto ip = asio::ip::make_address(host, error);
  if (colon == std::string::npos || error || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
      port > 65535) {
    return FieldError("listen", absl::StrCat("must be IP:PORT, got ", address));
  }
  return asio::ip::tcp::endpoint(ip, static_cast<uint16_t>(port));
}

absl::Status SystemError(const error_code& error, const char* what, const std::string& address) {
  return absl::UnavailableError(absl::StrCat(what, " ", address, ": ", error.message()));
}

Response ToResponse(const Answer& answer, unsigned version, bool keep_alive) {
  Response response(static_cast<http::status>(answer.status), version);
  response.set(http::field::content_type, answer.content_type);
  response.set(http::field::cache_control, "no-store");
  response.keep_alive(keep_alive);
  response.body() = answer.body;
  response.prepare_payload();
  return response;
}

}  // namespace

class HttpDoor::Impl {
 public:
  Impl(const HttpDoorOptions& options, Witness& witness, const Log& log)
      : options_(options), witness_(witness), log_(log) {}

  absl::Status Listen();
  std::string address() const;
  End Run();

 private:
  class Session;

  void Accept();
  void Take(asio::ip::tcp::socket socket);
  void Forget(Session* session);
  void Stop(End end);

  const HttpDoorOptions options_;
  Witness& witness_;
  const Log& log_;
  const Routes routes_ = {
      .add_checkpoint = [this](std::string_view body) { return witness_.AddCheckpoint(body); },
      .latest_checkpoint = [this](std::string_view log) { return witness_.LatestCheckpoint(log); }};

  asio::io_context io_;
  // The acceptor, its timer and the signals: one at a time.
  asio::strand<asio::io_context::executor_type> strand_ = asio::make_strand(io_);
  asio::ip::tcp::acceptor acceptor_{strand_};
  asio::steady_timer accept_again_{strand_};
  asio::signal_set signals_{strand_};
  std::atomic<bool> stopping_ = false;
  std::atomic<End> end_ = End::kSignal;

  absl::Mutex mutex_;
  std::set<Session*> sessions_ ABSL_GUARDED_BY(mutex_);
};

// One connection: reads a request, answers it, reads the next. Keeps itself alive while something
// is under way; everything runs on its strand.
class HttpDoor::Impl::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Impl* door, asio::ip::tcp::socket socket) : door_(door), stream_(std::move(socket)) {}
  ~Session() { door_->Forget(this); }

  void Start() {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->Read(); });
  }

  // Closes the connection unless an answer is on its way.
  void StopReading() {
    asio::dispatch(stream_.get_executor(), [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self != nullptr && self->reading_) self->stream_.cancel();
    });
  }

 private:
  void Read() {
    if (door_->stopping_) return;
    parser_.emplace();
    SetLimits(*parser_);
    stream_.expires_after(absl::ToChronoNanoseconds(door_->options_.read_timeout));
    reading_ = true;
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, size_t) { self->OnRead(error); });
  }

  void OnRead(error_code error) {
    reading_ = false;
    if (const auto refused = AnswerOf(error); refused.has_value())
      return Write(*refused, 11, /*keep_alive=*/false);
    if (error) return;
    const Request request = parser_->release();
    const Answer answer = Route(request, door_->routes_);
    const bool go_on = request.keep_alive() && !door_->stopping_ && !door_->witness_.failed();
    Write(answer, request.version(), go_on);
  }

  void Write(const Answer& answer, unsigned version, bool keep_alive) {
    response_.emplace(ToResponse(answer, version, keep_alive));
    stream_.expires_after(absl::ToChronoNanoseconds(door_->options_.write_timeout));
    http::async_write(stream_, *response_,
                      [self = shared_from_this(), keep_alive](error_code error, size_t) {
                        if (self->door_->witness_.failed()) self->door_->Stop(End::kWitnessFailed);
                        if (error || !keep_alive) return self->Close();
                        self->Read();
                      });
  }

  void Close() {
    error_code ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  }

  Impl* const door_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kMaxBufferBytes};
  std::optional<RequestParser> parser_;
  std::optional<Response> response_;
  bool reading_ = false;
};

absl::Status HttpDoor::Impl::Listen() {
  ASSIGN_OR_RETURN(const asio::ip::tcp::endpoint endpoint, ParseAddress(options_.address));
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return SystemError(error, "listen", options_.address);
  return absl::OkStatus();
}

std::string HttpDoor::Impl::address() const {
  error_code ignored;
  const std::string& asked = options_.address;
  return absl::StrCat(asked.substr(0, asked.rfind(':')), ":",
                      acceptor_.local_endpoint(ignored).port());
}

void HttpDoor::Impl::Accept() {
  acceptor_.async_accept(
      asio::make_strand(io_), [this](error_code error, asio::ip::tcp::socket socket) {
        if (stopping_) return;
        if (!error) {
          Take(std::move(socket));
          return Accept();
        }
        log_.Write(LogLevel::kWarning, "accept_failed", {{"message", error.message()}});
        accept_again_.expires_after(kAcceptAgain);
        accept_again_.async_wait([this](error_code) {
          if (!stopping_) Accept();
        });
      });
}

void HttpDoor::Impl::Take(asio::ip::tcp::socket socket) {
  std::shared_ptr<Session> session;
  {
    absl::MutexLock lock(&mutex_);
    if (sessions_.size() < options_.max_connections) {
      session = std::make_shared<Session>(this, std::move(socket));
      sessions_.insert(session.get());
    }
  }
  if (session == nullptr) return log_.Write(LogLevel::kWarning, "too_many_connections");
  session->Start();
}

void HttpDoor::Impl::Forget(Session* session) {
  absl::MutexLock lock(&mutex_);
  sessions_.erase(session);
}

void HttpDoor::Impl::Stop(End end) {
  asio::dispatch(strand_, [this, end] {
    if (stopping_.exchange(true)) return;
    end_ = end;
    error_code ignored;
    signals_.clear(ignored);  // the next signal ends the process
    acceptor_.close(ignored);
    accept_again_.cancel();
    absl::MutexLock lock(&mutex_);
    for (Session* session : sessions_) session->StopReading();
  });
}

End HttpDoor::Impl::Run() {
  error_code ignored;
  signals_.add(SIGTERM, ignored);
  signals_.add(SIGINT, ignored);
  signals_.async_wait([this](error_code error, int) {
    if (!error) Stop(End::kSignal);
  });
  asio::dispatch(strand_, [this] { Accept(); });
  std::vector<std::thread> threads;
  for (int i = 1; i < options_.threads; ++i) threads.emplace_back([this] { io_.run(); });
  io_.run();
  for (std::thread& thread : threads) thread.join();
  return end_;
}

HttpDoor::HttpDoor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpDoor::~HttpDoor() = default;

absl::StatusOr<std::unique_ptr<HttpDoor>> HttpDoor::Listen(const HttpDoorOptions& options,
                                                           Witness& witness, const Log& log) {
  auto impl = std::make_unique<Impl>(options, witness, log);
  RETURN_IF_ERROR(impl->Listen());
  return std::unique_ptr<HttpDoor>(new HttpDoor(std::move(impl)));
}

std::string HttpDoor::address() const { return impl_->address(); }

End HttpDoor::Run() { return impl_->Run(); }

}  // namespace dpledger::witness
