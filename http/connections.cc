#include "http/connections.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "http/connection.h"

namespace dpledger::http {
namespace {

// How exactly deadlines are kept.
constexpr auto kTick = std::chrono::milliseconds(50);

// Of what bodies may take in all, one host has this part: it cannot shut others out.
constexpr size_t kHostShare = 4;

}  // namespace

Connections::Connections(const ServerOptions& options, Handler handler, const Log* log)
    : options_(options), handler_(std::move(handler)), log_(*log) {}

bool Connections::Admit(const std::string& host) {
  if (closed_ || stopping_ || open_.size() >= options_.max_connections) return false;
  if (host.empty()) return true;
  const size_t cap = options_.max_connections_by_address == 0 ? options_.max_connections
                                                              : options_.max_connections_by_address;
  size_t& of_host = by_host_[host];
  if (of_host >= cap) return false;
  ++of_host;
  return true;
}

void Connections::Take(Socket socket, std::string peer, std::string host) {
  std::shared_ptr<Connection> connection;
  size_t open = 0;
  {
    absl::MutexLock lock(&mutex_);
    open = open_.size();
    if (Admit(host)) {
      connection = std::make_shared<Connection>(shared_from_this(), std::move(socket),
                                                std::move(peer), host);
      open_.insert(connection);
    }
  }
  if (connection == nullptr) return LogRefused(host, open);
  connection->Start();
}

void Connections::LogRefused(const std::string& host, size_t open) {
  // A flood of connections must not become a flood of lines: one a second.
  const int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::steady_clock::now().time_since_epoch())
                          .count();
  int64_t next = next_complaint_;
  if (stopping_ || now < next || !next_complaint_.compare_exchange_strong(next, now + 1)) return;
  log_.Write(LogLevel::kWarning, "too_many_connections",
             {{"host", host}, {"open", static_cast<int64_t>(open)}});
}

void Connections::Forget(const std::shared_ptr<Connection>& connection) {
  absl::MutexLock lock(&mutex_);
  if (open_.erase(connection) == 0) return;
  if (connection->host().empty()) return;
  const auto found = by_host_.find(connection->host());
  if (--found->second == 0) by_host_.erase(found);
}

size_t Connections::size() const {
  absl::MutexLock lock(&mutex_);
  return open_.size();
}

bool Connections::Reserve(const std::string& host, size_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (buffered_ + bytes > options_.max_buffered_bytes) return false;
  if (!host.empty()) {
    const size_t share =
        std::max(options_.max_buffered_bytes / kHostShare, options_.max_body_bytes);
    const auto found = buffered_by_host_.find(host);
    const size_t held = found == buffered_by_host_.end() ? 0 : found->second;
    if (held + bytes > share) return false;
    buffered_by_host_[host] = held + bytes;
  }
  buffered_ += bytes;
  return true;
}

void Connections::Release(const std::string& host, size_t bytes) {
  if (bytes == 0) return;
  absl::MutexLock lock(&mutex_);
  buffered_ -= bytes;
  const auto found = buffered_by_host_.find(host);
  if (found != buffered_by_host_.end() && (found->second -= bytes) == 0)
    buffered_by_host_.erase(found);
}

bool Connections::Post(const boost::asio::strand<boost::asio::io_context::executor_type>& strand,
                       std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return false;
  boost::asio::post(strand, std::move(task));
  return true;
}

void Connections::Sweep() {
  std::vector<std::shared_ptr<Connection>> late;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    const auto now = std::chrono::steady_clock::now();
    for (const std::shared_ptr<Connection>& connection : open_) {
      if (connection->Late(now)) late.push_back(connection);
    }
  }
  for (const std::shared_ptr<Connection>& connection : late) connection->Expire();
  tick_.expires_after(kTick);
  tick_.async_wait([this](boost::system::error_code error) {
    if (!error) Sweep();
  });
}

void Connections::Close(absl::Time deadline) {
  std::vector<std::shared_ptr<Connection>> open;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    open.assign(open_.begin(), open_.end());
  }
  for (const std::shared_ptr<Connection>& connection : open) connection->StopReading();
  absl::MutexLock lock(&mutex_);
  const auto empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return open_.empty(); };
  mutex_.AwaitWithDeadline(absl::Condition(&empty), deadline);
  for (const std::shared_ptr<Connection>& connection : open_) connection->Abandon();
  mutex_.Await(absl::Condition(&empty));
  closed_ = true;  // the next tick is the last one
}

}  // namespace dpledger::http
