#include "tests/connection/refusing_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace dpledger::testing {
namespace {

// RFC 9113: frames of a header of nine bytes.
constexpr size_t kPrefaceBytes = 24;
constexpr size_t kHeaderBytes = 9;
constexpr char kHeaders = 1, kSettings = 4, kPing = 6;
constexpr char kAcknowledged = 1, kEndOfStreamAndHeaders = 5;

std::string Frame(char type, char flags, const std::string& stream, const std::string& payload) {
  const char length[] = {0, 0, static_cast<char>(payload.size())};
  return absl::StrCat(std::string(length, 3), std::string(1, type), std::string(1, flags), stream,
                      payload);
}

bool ReadAll(int connection, size_t bytes, std::string& into) {
  into.resize(bytes);
  return bytes == 0 ||
         recv(connection, into.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

}  // namespace

RefusingProxy::RefusingProxy(std::string status) : status_(std::move(status)) {
  listener_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener_, 16) != 0) {
    throw std::runtime_error("the proxy cannot listen");
  }
  thread_ = std::thread([this] { Serve(); });
}

RefusingProxy::~RefusingProxy() {
  stopping_ = true;
  thread_.join();
  close(listener_);
}

std::string RefusingProxy::address() const {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  return absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
}

void RefusingProxy::Serve() {
  std::vector<int> connections;
  std::vector<std::thread> threads;
  while (!stopping_) {
    pollfd waiting = {.fd = listener_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, /*timeout=*/20) <= 0) continue;
    connections.push_back(accept(listener_, nullptr, nullptr));
    threads.emplace_back([this, connection = connections.back()] { Answer(connection); });
  }
  for (const int connection : connections) shutdown(connection, SHUT_RDWR);
  for (std::thread& thread : threads) thread.join();
  for (const int connection : connections) close(connection);
}

void RefusingProxy::Answer(int connection) {
  const auto send_all = [&](const std::string& bytes) {
    return send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  };
  const std::string whole(4, '\0');  // the connection's own stream
  std::string header, payload;
  if (!ReadAll(connection, kPrefaceBytes, header) || !send_all(Frame(kSettings, 0, whole, ""))) {
    return;
  }
  while (ReadAll(connection, kHeaderBytes, header)) {
    const auto byte = [&](int i) { return static_cast<size_t>(static_cast<uint8_t>(header[i])); };
    if (!ReadAll(connection, (byte(0) << 16) | (byte(1) << 8) | byte(2), payload)) return;
    const char type = header[3];
    const bool acknowledged = (header[4] & kAcknowledged) != 0;
    std::string answer;
    if (type == kSettings && !acknowledged) answer = Frame(kSettings, kAcknowledged, whole, "");
    if (type == kPing && !acknowledged) answer = Frame(kPing, kAcknowledged, whole, payload);
    if (type == kHeaders) {
      // RFC 7541: a literal that is not indexed, of the name at index 8, `:status`.
      answer = Frame(kHeaders, kEndOfStreamAndHeaders, header.substr(5),
                     absl::StrCat("\x08\x03", status_));
      ++answers_;
    }
    if (!send_all(answer)) return;
  }
}

}  // namespace dpledger::testing
