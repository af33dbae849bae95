// Who is at the other end of a connection.
#pragma once

#include <string>

namespace dpledger::front {

struct Peer {
  std::string address;  // "192.0.2.1:4711", "[2001:db8::1]:4711"
  // What is counted as one: the IPv4 address, or the first 64 bits of IPv6. Empty: a trusted proxy,
  // behind which are many.
  std::string host;
  bool encrypted = false;   // TLS
  bool forwards = false;    // a trusted proxy, whose X-Forwarded-For names the caller
  std::string certificate;  // DER, as the handshake verified it; empty: none was shown
};

}  // namespace dpledger::front
