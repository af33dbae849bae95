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

// Whether only this machine reaches the host: 127.*, ::1 or localhost.
bool IsLoopback(std::string_view host);

}  // namespace dpledger
