// HOST:PORT, as flags and the network write it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dpledger {

struct Address {
  std::string host;  // without the brackets of IPv6
  uint16_t port = 0;
};

// "name:1", "192.0.2.1:1" or "[2001:db8::1]:1". Nothing for text of another form.
std::optional<Address> ParseAddress(std::string_view text);

// The host of "192.0.2.1:1" or "ipv4:192.0.2.1:1": all before the port, if there is one.
inline std::string_view WithoutPort(std::string_view peer) {
  return peer.ends_with(']') ? peer : peer.substr(0, peer.rfind(':'));
}

// Whom the host of such a text counts as: one customer of an IPv6 provider has a whole /64.
std::string NetworkOf(std::string_view peer);

// Whether only this machine reaches the host: 127.*, ::1 or localhost.
bool IsLoopback(std::string_view host);

}  // namespace dpledger
