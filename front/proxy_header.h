// The header that a proxy sends before its client's first byte, in either version of the PROXY
// protocol (https://www.haproxy.org/download/2.6/doc/proxy-protocol.txt).
//
// It is read to its last byte and no further: what follows belongs to TLS. Not thread safe.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dpledger::front {

class ProxyHeader {
 public:
  // How many bytes to read next: no more than the header has. 0: it is whole.
  size_t wants() const { return wants_; }
  // Takes as many bytes, or fewer. False: this is no such header, or one longer than 2 KiB.
  bool Take(std::string_view bytes);

  // The client, once the header is whole. None: the proxy speaks for itself (LOCAL, UNKNOWN), or
  // does not know the client by an address of TCP.
  const std::optional<boost::asio::ip::tcp::endpoint>& client() const { return client_; }

 private:
  bool TakeText();
  bool TakeBinary();

  std::string bytes_;
  size_t wants_ = 12;  // the signature of version 2; no header of version 1 is shorter
  std::optional<boost::asio::ip::tcp::endpoint> client_;
};

}  // namespace dpledger::front
