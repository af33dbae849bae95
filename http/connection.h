// One connection of a server: reads a request, waits for its answer, writes it, reads the next.
// Internal to http/. Everything runs on the connection's strand but the methods that say otherwise.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/connections.h"
#include "http/head.h"

namespace dpledger::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Connections> shared, Connections::Socket socket, std::string peer,
             std::string host);

  // From any thread.
  void Start();
  bool Late(std::chrono::steady_clock::time_point now) const;
  void Expire();       // its deadline has passed
  void StopReading();  // ends it unless an answer is under way, and else after that
  void Abandon();      // ends it at once
  const std::string& host() const { return host_; }
  // Of the answer to request number `request`; nothing happens if that is over.
  void Send(uint64_t request, Response response);
  void StartStream(uint64_t request, Response head);
  void Write(uint64_t request, std::string bytes, std::function<void(bool)> done);
  void EndStream(uint64_t request, std::string last);
  void OnCancel(uint64_t request, std::function<void()> gone);
  void Drop(uint64_t request);

 private:
  enum class State { kIdle, kHead, kBody, kHandling, kLingering, kClosed };
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Error = boost::system::error_code;

  void Post(std::function<void()> task);
  void SetDeadline(absl::Duration timeout);
  void ReadMore();
  void OnRead(Error error, size_t bytes);
  void Parse();
  void ParseHead();
  void CheckParsedHead();
  void ParseBody();
  bool ReserveBody();
  void Refuse(const Refusal& refusal);
  void CallHandler();
  void CallHandlerWithoutBody();
  void Watch();
  void OnWatched(Error error);
  void Cancel();

  bool Answers(uint64_t request) const { return state_ == State::kHandling && request == request_; }
  std::string Framing(std::optional<size_t> length) const;
  void Queue(std::string bytes, bool last, std::function<void(bool)> done);
  void WriteNext();
  void Finish();
  void Linger();
  void Close();

  struct Piece {
    std::string bytes;
    bool last;  // of the answer
    std::function<void(bool)> done;
  };

  const std::shared_ptr<Connections> shared_;
  Connections::Socket socket_;
  const boost::asio::strand<boost::asio::io_context::executor_type> strand_;
  const std::string peer_;
  const std::string host_;
  std::atomic<std::chrono::steady_clock::rep> deadline_;
  boost::asio::steady_timer pause_;

  State state_ = State::kIdle;
  uint64_t request_ = 0;  // its number on this connection
  boost::beast::flat_buffer buffer_;
  size_t seen_ = 0;  // of the buffer, by FindHeadEnd
  std::optional<Parser> parser_;
  Request received_;
  size_t reserved_ = 0;
  size_t lingered_ = 0;
  bool http_1_0_ = false;
  bool keep_alive_ = true;
  bool head_only_ = false;  // the answer to HEAD has no body
  bool streaming_ = false;
  bool watching_ = false;
  bool peer_ended_ = false;
  bool expired_ = false;
  std::function<void()> gone_;
  std::shared_ptr<std::atomic<bool>> cancelled_;  // the request's own: its exchange may outlive it
  std::deque<Piece> pieces_;  // to be written; the first one is under way if writing_
  bool writing_ = false;
};

}  // namespace dpledger::http
