// Sets of addresses, as flags write them: "192.0.2.1", "10.0.0.0/8", "2001:db8::/32".
//
// Immutable; thread safe.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dpledger::front {

// "192.0.2.1:4711", "[2001:db8::1]:4711"; an IPv4 address in IPv6's form as IPv4.
std::string TextOf(const boost::asio::ip::address& address, uint16_t port);

class Networks {
 public:
  Networks() = default;  // none
  // INVALID_ARGUMENT (field trusted_proxy) for text of another form, and for a network whose
  // address has bits beyond its prefix.
  static absl::StatusOr<Networks> Parse(const std::vector<std::string>& texts);

  // An IPv4 address in IPv6's form is that IPv4 address.
  bool Contain(const boost::asio::ip::address& address) const;

 private:
  std::vector<boost::asio::ip::network_v6> networks_;  // IPv4 as ::ffff:0:0/96
};

}  // namespace dpledger::front
