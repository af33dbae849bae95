#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/absl_view.h"

namespace dpledger {

std::optional<Address> ParseAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon == std::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(ToAbsl(text.substr(colon + 1)), &port) || port > 65535) {
    return std::nullopt;
  }
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.find_first_of(bracketed ? "/[]" : ":/[]") != std::string_view::npos) return std::nullopt;
  return Address{std::string(host), static_cast<uint16_t>(port)};
}

bool IsLoopback(std::string_view host) {
  return host == "localhost" || host == "::1" ||
         (host.substr(0, 4) == "127." &&
          host.find_first_not_of("0123456789.") == std::string_view::npos);
}

std::string NetworkOf(std::string_view peer) {
  std::string host(WithoutPort(peer));
  if (host.starts_with("ipv6:")) host.erase(0, host.find(':') + 1);
  if (!host.starts_with('[')) return host;
  in6_addr address = {};
  if (::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) != 1) return host;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    return absl::StrJoin(address.s6_addr + 12, address.s6_addr + 16, ".");
  }
  std::fill(address.s6_addr + 8, address.s6_addr + 16, uint8_t{0});
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET6, &address, text, sizeof(text));
  return absl::StrCat(text, "/64");
}

}  // namespace dpledger
