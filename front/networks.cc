#include "front/networks.h"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::front {
namespace {

namespace ip = boost::asio::ip;

constexpr int kMappedBits = 96;  // of ::ffff:0:0/96

ip::address_v6 Wide(const ip::address& address) {
  return address.is_v4() ? ip::make_address_v6(ip::v4_mapped, address.to_v4()) : address.to_v6();
}

absl::StatusOr<ip::network_v6> NetworkOf(const std::string& text) {
  const absl::Status bad = FieldError(
      "trusted_proxy",
      absl::StrCat(
          "must be an address, or a network as 10.0.0.0/8 with no bits set beyond its length, got ",
          text));
  const size_t slash = text.find('/');
  boost::system::error_code error;
  const ip::address address = ip::make_address(text.substr(0, slash), error);
  if (error) return bad;
  const int most = address.is_v4() ? 32 : 128;
  int bits = most;
  if (slash != std::string::npos &&
      (!absl::SimpleAtoi(text.substr(slash + 1), &bits) || bits < 0 || bits > most)) {
    return bad;
  }
  const ip::network_v6 network(Wide(address), address.is_v4() ? kMappedBits + bits : bits);
  if (network.canonical().address() != network.address()) return bad;
  return network;
}

}  // namespace

std::string TextOf(const ip::address& given, uint16_t port) {
  const bool mapped = given.is_v6() && given.to_v6().is_v4_mapped();
  const ip::address address =
      mapped ? ip::address(ip::make_address_v4(ip::v4_mapped, given.to_v6())) : given;
  const std::string host = address.to_string();
  return address.is_v6() ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

absl::StatusOr<Networks> Networks::Parse(const std::vector<std::string>& texts) {
  Networks parsed;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(const ip::network_v6 network, NetworkOf(text));
    parsed.networks_.push_back(network);
  }
  return parsed;
}

bool Networks::Contain(const ip::address& address) const {
  const ip::address_v6 wide = Wide(address);
  for (const ip::network_v6& network : networks_) {
    if (ip::network_v6(wide, network.prefix_length()).canonical() == network.canonical())
      return true;
  }
  return false;
}

}  // namespace dpledger::front
