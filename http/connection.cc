#include "http/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "http/exchange.h"

namespace dpledger::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using std::chrono::steady_clock;

// Read and not yet understood. Beast's own limits leave out what stands between the chunks of a
// body: extensions and trailers (RFC 9112, section 7.1) would fill the memory.
constexpr size_t kMaxBufferBytes = size_t{64} << 10;
constexpr size_t kReadBytes = size_t{16} << 10;
// After a refusal the rest of the request is read and dropped: closing at once would reset the
// connection, and the client might never see the answer.
constexpr absl::Duration kLingerTimeout = absl::Seconds(1);
constexpr size_t kMaxLingerBytes = size_t{1} << 20;
constexpr absl::Duration kRefusalPause = absl::Seconds(1);
constexpr size_t kNoBody = SIZE_MAX;  // as the length of an answer
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

std::string_view View(const beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

}  // namespace

Connection::Connection(std::shared_ptr<Connections> shared, Connections::Socket socket,
                       std::string peer, std::string host)
    : shared_(std::move(shared)),
      socket_(std::move(socket)),
      strand_(shared_->io().get_executor()),
      peer_(std::move(peer)),
      host_(std::move(host)),
      deadline_(0),
      pause_(shared_->io()),
      buffer_(kMaxBufferBytes) {
  SetDeadline(shared_->options().idle_timeout);
}

void Connection::Post(std::function<void()> task) {
  asio::post(strand_, [self = shared_from_this(), task = std::move(task)] { task(); });
}

void Connection::Start() {
  Post([this] { Parse(); });
}

void Connection::SetDeadline(absl::Duration timeout) {
  deadline_ = (steady_clock::now() + absl::ToChronoNanoseconds(timeout)).time_since_epoch().count();
}

bool Connection::Late(steady_clock::time_point now) const {
  const auto deadline = deadline_.load();
  return deadline != 0 && now.time_since_epoch().count() >= deadline;
}

void Connection::Expire() {
  Post([this] {
    if (state_ == State::kClosed || !Late(steady_clock::now())) return;
    if (state_ != State::kHead && state_ != State::kBody) return Close();
    expired_ = true;  // the read ends, and then says so to the client
    Error ignored;
    socket_.cancel(ignored);
  });
}

void Connection::StopReading() {
  Post([this] {
    if (state_ != State::kHandling && state_ != State::kLingering) Close();
  });
}

void Connection::Abandon() {
  Post([this] { Close(); });
}

void Connection::ReadMore() {
  const size_t bytes = std::min(kReadBytes, kMaxBufferBytes - buffer_.size());
  socket_.async_read_some(
      buffer_.prepare(bytes),
      asio::bind_executor(strand_, [self = shared_from_this()](Error error, size_t read) {
        self->OnRead(error, read);
      }));
}

void Connection::OnRead(Error error, size_t bytes) {
  if (state_ == State::kClosed) return;
  if (expired_) return Refuse({408, "the request took too long to arrive"});
  if (error) return Close();
  if (state_ == State::kLingering) {
    lingered_ += bytes;
    return lingered_ > kMaxLingerBytes ? Close() : ReadMore();
  }
  buffer_.commit(bytes);
  Parse();
}

void Connection::Parse() {
  if (state_ == State::kClosed) return;
  if (shared_->stopping()) return Close();
  if (state_ == State::kIdle) {
    if (buffer_.size() == 0) return ReadMore();
    state_ = State::kHead;
    SetDeadline(shared_->options().read_timeout);
  }
  if (state_ == State::kHead) return ParseHead();
  ParseBody();
}

void Connection::ParseHead() {
  const std::string_view bytes = View(buffer_);
  const size_t limit = shared_->options().max_header_bytes;
  const std::optional<size_t> end = FindHeadEnd(bytes, &seen_);
  if (end == 0) return Refuse({400, "not an HTTP/1.1 request: lines end with CR LF"});
  if (end.value_or(bytes.size()) > limit) return Refuse({431, "the headers are too large"});
  if (!end.has_value()) return ReadMore();
  if (auto refusal = CheckHead(bytes.substr(0, *end), shared_->options().max_headers)) {
    return Refuse(*refusal);
  }
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(limit));
  parser_->body_limit(shared_->options().max_body_bytes);
  Error error;
  buffer_.consume(parser_->put(buffer_.data(), error));
  if (error == beast::http::error::body_limit) return Refuse({413, "the request is too large"});
  if (error || !parser_->is_header_done()) return Refuse({400, "not an HTTP/1.1 request"});
  CheckParsedHead();
}

void Connection::CheckParsedHead() {
  const auto& message = parser_->get();
  http_1_0_ = message.version() == 10;
  keep_alive_ = message.keep_alive();
  received_ = Request{.method = std::string(View(message.method_string())), .peer = peer_};
  head_only_ = received_.method == "HEAD";
  // Now, before the trailers of the body come to stand among them.
  for (const auto& field : message) {
    std::string name(View(field.name_string()));
    for (char& byte : name) byte = static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
    received_.headers.emplace_back(std::move(name), View(field.value()));
  }
  const std::optional<Target> target = ParseTarget(View(message.target()));
  if (!target.has_value()) return Refuse({400, "the path is not one that this server can have"});
  received_.path = target->path;
  received_.query = target->query;
  const auto& hosts = shared_->options().hosts;
  const auto& open_paths = shared_->options().paths_of_any_host;
  const bool is_open =
      std::find(open_paths.begin(), open_paths.end(), received_.path) != open_paths.end();
  if (!is_open && !hosts.empty() && !HostAllowed(received_.Find("host").value_or(""), hosts)) {
    return Refuse({421, "the header host names another server"});
  }
  state_ = State::kBody;
  const auto& takes_body = shared_->options().takes_body;
  if (takes_body && !parser_->is_done() && !takes_body(received_)) {
    return CallHandlerWithoutBody();
  }
  const auto expect = received_.Find("expect");
  if (!expect.has_value()) return ParseBody();
  if (*expect != "100-continue") return Refuse({417, "expect: must be 100-continue"});
  if (http_1_0_ || parser_->is_done() || buffer_.size() > 0) return ParseBody();
  asio::async_write(socket_, asio::buffer(kContinue, sizeof(kContinue) - 1),
                    asio::bind_executor(strand_, [self = shared_from_this()](Error error, size_t) {
                      if (self->state_ == State::kClosed) return;
                      if (error) return self->Close();
                      self->ParseBody();
                    }));
}

void Connection::ParseBody() {
  parser_->eager(true);
  while (!parser_->is_done()) {
    if (buffer_.size() == 0) return ReadMore();
    Error error;
    buffer_.consume(parser_->put(buffer_.data(), error));
    if (!ReserveBody()) return Refuse({503, "too many requests at once; try again"});
    if (error == beast::http::error::need_more) {
      if (buffer_.size() < kMaxBufferBytes) return ReadMore();
      error = beast::http::error::body_limit;
    }
    if (error == beast::http::error::body_limit) return Refuse({413, "the request is too large"});
    if (error) return Refuse({400, "the body is not what its headers say"});
  }
  received_.body = std::move(parser_->get().body());
  CallHandler();
}

bool Connection::ReserveBody() {
  const size_t more = parser_->get().body().size() - reserved_;
  if (more == 0) return true;
  if (!shared_->Reserve(host_, more)) return false;
  reserved_ += more;
  return true;
}

void Connection::Refuse(const Refusal& refusal) {
  keep_alive_ = false;
  head_only_ = false;
  expired_ = false;
  ++request_;
  state_ = State::kHandling;
  cancelled_ = std::make_shared<std::atomic<bool>>(false);
  Send(request_, PlainResponse(refusal.status, refusal.message));
}

void Connection::CallHandler() {
  ++request_;
  state_ = State::kHandling;
  deadline_ = 0;
  parser_.reset();
  cancelled_ = std::make_shared<std::atomic<bool>>(false);
  const auto exchange = std::make_shared<ConnectionExchange>(shared_, shared_from_this(), strand_,
                                                             request_, cancelled_);
  const uint64_t request = request_;
  try {
    shared_->handler()(std::move(received_), exchange);
  } catch (const std::exception& error) {
    shared_->log().Write(LogLevel::kError, "http_handler_failed", {{"message", error.what()}});
    exchange->Send(PlainResponse(500, "the server failed"));
  }
  // A stream that has begun goes on as well: its client may leave long before there is more to say.
  if (Answers(request) && (pieces_.empty() || !pieces_.back().last)) Watch();
}

// Not at once: a client that comes back as often as it is refused would take its host's share of
// new connections, and others may be behind that address.
void Connection::CallHandlerWithoutBody() {
  keep_alive_ = false;
  pause_.expires_after(absl::ToChronoMilliseconds(kRefusalPause));
  pause_.async_wait(asio::bind_executor(strand_, [self = shared_from_this()](Error) {
    if (self->state_ == State::kBody) self->CallHandler();
  }));
}

// Waits for bytes or the end of the peer's side while a request is being answered.
void Connection::Watch() {
  if (watching_) return;
  watching_ = true;
  socket_.async_wait(asio::socket_base::wait_read,
                     asio::bind_executor(strand_, [self = shared_from_this()](Error error) {
                       self->OnWatched(error);
                     }));
}

void Connection::OnWatched(Error error) {
  watching_ = false;
  if (error || state_ != State::kHandling) return;
  char byte = 0;
  const ssize_t peeked =
      recv(socket_.native_handle(), &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);
  if (peeked > 0) return;  // the next request; what comes after it is not seen
  if (peeked < 0 && (errno == EAGAIN || errno == EINTR)) return Watch();
  peer_ended_ = true;
  Cancel();
}

void Connection::Cancel() {
  if (cancelled_ == nullptr || cancelled_->exchange(true)) return;
  if (gone_) std::exchange(gone_, nullptr)();
}

void Connection::OnCancel(uint64_t request, std::function<void()> gone) {
  if (!Answers(request)) return;
  if (*cancelled_) return gone();
  gone_ = std::move(gone);
}

void Connection::Drop(uint64_t request) {
  if (!Answers(request)) return;
  if (streaming_) return Close();  // without its last chunk, so that nobody takes it for whole
  Send(request, PlainResponse(500, "the server failed"));
}

std::string Connection::Framing(std::optional<size_t> length) const {
  const bool closes = !keep_alive_ || shared_->stopping() || (http_1_0_ && !length.has_value());
  std::string lines = absl::StrCat(
      "date: ", absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::Now(), absl::UTCTimeZone()),
      "\r\nconnection: ", closes ? "close" : "keep-alive", "\r\n");
  if (length == kNoBody) {
    // Neither framing: the client knows that none comes.
  } else if (length.has_value()) {
    absl::StrAppend(&lines, "content-length: ", *length, "\r\n");
  } else if (!http_1_0_) {
    absl::StrAppend(&lines, "transfer-encoding: chunked\r\n");
  }
  return lines;
}

void Connection::Send(uint64_t request, Response response) {
  if (!Answers(request) || streaming_) return;
  const bool no_body = response.status == 204 || response.status == 304;
  std::string bytes = WriteHead(response, Framing(no_body ? kNoBody : response.body.size()));
  if (!head_only_ && !no_body) bytes += response.body;
  Queue(std::move(bytes), true, [kept = std::move(response.kept)](bool) {});
}

void Connection::StartStream(uint64_t request, Response head) {
  if (!Answers(request) || streaming_) return;
  streaming_ = true;
  keep_alive_ = keep_alive_ && !http_1_0_;
  Queue(WriteHead(head, Framing(std::nullopt)), false, nullptr);
}

void Connection::Write(uint64_t request, std::string bytes, std::function<void(bool)> done) {
  if (!Answers(request) || !streaming_) return done(false);
  // An empty chunk would end the answer.
  if (head_only_ || bytes.empty()) return done(true);
  if (!http_1_0_) bytes = absl::StrCat(absl::Hex(bytes.size()), "\r\n", bytes, "\r\n");
  Queue(std::move(bytes), false, std::move(done));
}

void Connection::EndStream(uint64_t request, std::string last) {
  if (!Answers(request) || !streaming_) return;
  if (!http_1_0_) {
    if (!last.empty()) last = absl::StrCat(absl::Hex(last.size()), "\r\n", last, "\r\n");
    last += "0\r\n\r\n";
  }
  if (head_only_) last.clear();
  Queue(std::move(last), true, nullptr);
}

void Connection::Queue(std::string bytes, bool last, std::function<void(bool)> done) {
  pieces_.push_back({std::move(bytes), last, std::move(done)});
  if (!writing_) WriteNext();
}

void Connection::WriteNext() {
  writing_ = true;
  // The request is done with, and a client that has the whole answer may ask at once for as much.
  if (pieces_.front().last) shared_->Release(host_, std::exchange(reserved_, 0));
  SetDeadline(shared_->options().write_timeout);
  asio::async_write(socket_, asio::buffer(pieces_.front().bytes),
                    asio::bind_executor(strand_, [self = shared_from_this()](Error error, size_t) {
                      if (self->state_ == State::kClosed) return;
                      self->writing_ = false;
                      if (error) return self->Close();
                      self->deadline_ = 0;
                      const Piece piece = std::move(self->pieces_.front());
                      self->pieces_.pop_front();
                      if (piece.done) piece.done(true);
                      if (piece.last) return self->Finish();
                      if (!self->pieces_.empty() && !self->writing_) self->WriteNext();
                    }));
}

void Connection::Finish() {
  gone_ = nullptr;
  streaming_ = false;
  if (!keep_alive_ || peer_ended_) return Linger();
  state_ = State::kIdle;
  seen_ = 0;
  SetDeadline(shared_->options().idle_timeout);
  Parse();
}

void Connection::Linger() {
  if (peer_ended_) return Close();
  Error ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  state_ = State::kLingering;
  buffer_.clear();
  SetDeadline(kLingerTimeout);
  ReadMore();
}

void Connection::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  deadline_ = 0;
  Error ignored;
  socket_.close(ignored);
  shared_->Release(host_, std::exchange(reserved_, 0));
  const std::deque<Piece> unsent = std::exchange(pieces_, {});
  Cancel();
  for (const Piece& piece : unsent) {
    if (piece.done) piece.done(false);
  }
  gone_ = nullptr;
  shared_->Forget(shared_from_this());
}

}  // namespace dpledger::http
