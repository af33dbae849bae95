// What the connections of a server share: its options, its threads' work, the bounds on how many
// there are and how much they keep, and their deadlines. Internal to http/. Thread safe.
#pragma once

#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "http/server.h"

namespace dpledger::http {

class Connection;

class Connections : public std::enable_shared_from_this<Connections> {
 public:
  Connections(const ServerOptions& options, Handler handler, const Log* log);

  using Socket = boost::asio::generic::stream_protocol::socket;
  // Starts a connection, or closes the socket if there are too many.
  void Take(Socket socket, std::string peer, std::string host);
  void Forget(const std::shared_ptr<Connection>& connection);
  size_t size() const;

  // False if `bytes` more of `host` would be too many, of all or of its share; else Release gives
  // them back.
  bool Reserve(const std::string& host, size_t bytes);
  void Release(const std::string& host, size_t bytes);

  // Runs `task` on the threads; false once the server has closed, and then never.
  bool Post(const boost::asio::strand<boost::asio::io_context::executor_type>& strand,
            std::function<void()> task);

  bool stopping() const { return stopping_; }
  // See Server::Close. `deadline` passes while other threads run io().
  void Close(absl::Time deadline);
  // Ends connections that are past their deadlines; again each tick until Close.
  void Sweep();

  boost::asio::io_context& io() { return io_; }
  const ServerOptions& options() const { return options_; }
  const Handler& handler() const { return handler_; }
  const Log& log() const { return log_; }

 private:
  bool Admit(const std::string& host) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LogRefused(const std::string& host, size_t open);

  const ServerOptions options_;
  const Handler handler_;
  const Log& log_;
  boost::asio::io_context io_;
  boost::asio::steady_timer tick_{io_};
  std::atomic<bool> stopping_ = false;
  std::atomic<int64_t> next_complaint_ = 0;  // seconds of the steady clock

  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::shared_ptr<Connection>> open_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, size_t> by_host_ ABSL_GUARDED_BY(mutex_);
  size_t buffered_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, size_t> buffered_by_host_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::http
