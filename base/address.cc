#include "base/address.h"

#include "absl/strings/numbers.h"
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

}  // namespace dpledger
