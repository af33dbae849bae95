#include "tests/witness/http_call.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <sstream>

namespace dpledger::testing {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

std::string Request(const std::string& method, const std::string& target, const std::string& body) {
  std::ostringstream text;
  text << method << " " << target << " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
       << "Content-Length: " << body.size() << "\r\n\r\n"
       << body;
  return text.str();
}

}  // namespace

HttpAnswer SendRaw(const std::string& address, const std::string& bytes) {
  asio::io_context io;
  asio::ip::tcp::socket socket(io);
  boost::system::error_code error;
  const size_t colon = address.rfind(':');
  socket.connect({asio::ip::make_address(address.substr(0, colon), error),
                  static_cast<uint16_t>(std::stoi(address.substr(colon + 1)))},
                 error);
  if (error) return {};
  // The other side may answer and close before it has read everything.
  asio::write(socket, asio::buffer(bytes), error);
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(socket, buffer, response, error);
  if (error) return {};
  const auto type = response[http::field::content_type];
  return {static_cast<int>(response.result_int()), std::string(type.data(), type.size()),
          response.body()};
}

HttpAnswer HttpPost(const std::string& address, const std::string& target,
                    const std::string& body) {
  return SendRaw(address, Request("POST", target, body));
}

HttpAnswer HttpGet(const std::string& address, const std::string& target) {
  return SendRaw(address, Request("GET", target, ""));
}

}  // namespace dpledger::testing
