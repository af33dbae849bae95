#include "tests/http/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"

namespace dpledger::testing {

RawClient::RawClient(const std::string& address) : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
  const size_t colon = address.rfind(':');
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &name.sin_addr);
  if (connect(descriptor_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) {
    close(descriptor_);
    descriptor_ = -1;
  }
}

RawClient::~RawClient() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool RawClient::Send(const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t more = send(descriptor_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) return false;
    sent += static_cast<size_t>(more);
  }
  return true;
}

void RawClient::EndSending() { shutdown(descriptor_, SHUT_WR); }

bool RawClient::Fill() {
  char bytes[16384];
  const ssize_t got = recv(descriptor_, bytes, sizeof(bytes), 0);
  if (got <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(got));
  return true;
}

RawAnswer RawClient::Read(bool body) {
  RawAnswer answer;
  size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill()) return answer;
  }
  const std::string head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  answer.status = std::stoi(head.substr(head.find(' ') + 1));
  for (size_t begin = head.find("\r\n") + 2; begin < head.size();) {
    const size_t line_end = head.find("\r\n", begin);
    const size_t colon = head.find(':', begin);
    answer.headers.emplace(absl::AsciiStrToLower(head.substr(begin, colon - begin)),
                           head.substr(colon + 2, line_end - colon - 2));
    begin = line_end + 2;
  }
  if (!body || answer.status == 100) return answer.complete = true, answer;
  if (answer.Header("transfer-encoding") == "chunked") {
    while (true) {
      size_t line = 0;
      while ((line = buffer_.find("\r\n")) == std::string::npos) {
        if (!Fill()) return answer;
      }
      const size_t size = std::stoul(buffer_.substr(0, line), nullptr, 16);
      while (buffer_.size() < line + 2 + size + 2) {
        if (!Fill()) return answer;
      }
      answer.body += buffer_.substr(line + 2, size);
      buffer_.erase(0, line + 2 + size + 2);
      if (size == 0) return answer.complete = true, answer;
    }
  }
  const std::string length = answer.Header("content-length");
  if (length.empty()) {
    while (Fill()) {
    }
    answer.body = std::exchange(buffer_, "");
    return answer.complete = true, answer;
  }
  const size_t size = std::stoul(length);
  while (buffer_.size() < size) {
    if (!Fill()) return answer;
  }
  answer.body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  answer.complete = true;
  return answer;
}

bool RawClient::Ends(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd readable = {.fd = descriptor_, .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, static_cast<int>(left.count())) > 0 && !Fill()) return true;
  }
}

std::string RawClient::ReadAll() {
  while (Fill()) {
  }
  return buffer_;
}

RawAnswer SendOnce(const std::string& address, const std::string& bytes) {
  RawClient client(address);
  client.Send(bytes);
  return client.Read();
}

}  // namespace dpledger::testing
