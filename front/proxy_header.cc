#include "front/proxy_header.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace dpledger::front {
namespace {

namespace ip = boost::asio::ip;

constexpr char kBinary[] = "\r\n\r\n\0\r\nQUIT\n";
constexpr size_t kSignatureBytes = sizeof(kBinary) - 1;
constexpr size_t kFixedBytes = 16;    // of version 2: with command, family and length
constexpr size_t kMostBytes = 2'048;  // of version 2: addresses, and what a proxy adds to them
constexpr std::string_view kText = "PROXY ";
constexpr size_t kMostText = 107;  // of version 1

uint8_t ByteAt(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }
uint16_t NumberAt(std::string_view bytes, size_t at) {
  return static_cast<uint16_t>(ByteAt(bytes, at) << 8 | ByteAt(bytes, at + 1));
}

// The address at the beginning of `bytes`.
template <typename Bytes>
Bytes Leading(std::string_view bytes) {
  Bytes address;
  std::memcpy(address.data(), bytes.data(), address.size());
  return address;
}

}  // namespace

bool ProxyHeader::Take(std::string_view bytes) {
  bytes_ += bytes;
  wants_ -= bytes.size();
  if (wants_ > 0) return true;
  if (bytes_.starts_with(kText)) return TakeText();
  return bytes_.starts_with(std::string_view(kBinary, kSignatureBytes)) && TakeBinary();
}

// PROXY TCP4 192.0.2.1 198.51.100.1 4711 443\r\n
bool ProxyHeader::TakeText() {
  if (!bytes_.ends_with("\r\n")) {
    wants_ = 1;
    return bytes_.size() < kMostText;
  }
  const std::string line = bytes_.substr(0, bytes_.size() - 2);
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  if (words[1] == "UNKNOWN") return true;
  const bool v4 = words[1] == "TCP4";
  if (words.size() != 6 || (!v4 && words[1] != "TCP6")) return false;
  boost::system::error_code error;
  const ip::address address = ip::make_address(words[2], error);
  uint32_t port = 0;
  if (error || address.is_v4() != v4 || !absl::SimpleAtoi(words[4], &port) || port > 65'535)
    return false;
  client_.emplace(address, static_cast<uint16_t>(port));
  return true;
}

bool ProxyHeader::TakeBinary() {
  if (bytes_.size() == kSignatureBytes) {
    wants_ = kFixedBytes - kSignatureBytes;
    return true;
  }
  const uint8_t command = ByteAt(bytes_, 12), family = ByteAt(bytes_, 13);
  const size_t size = kFixedBytes + NumberAt(bytes_, 14);
  constexpr uint8_t kLocal = 0x20, kProxy = 0x21, kTcp4 = 0x11, kTcp6 = 0x21;
  if ((command != kLocal && command != kProxy) || size > kMostBytes) return false;
  wants_ = size - bytes_.size();
  if (wants_ > 0 || command == kLocal) return true;
  // Source and destination address, source and destination port.
  const std::string_view addresses = std::string_view(bytes_).substr(kFixedBytes);
  const auto taken = [&]<typename Address>(const Address*) {
    using Bytes = typename Address::bytes_type;
    constexpr size_t kWide = std::tuple_size_v<Bytes>;
    if (addresses.size() < 2 * kWide + 4) return false;
    client_.emplace(Address(Leading<Bytes>(addresses)), NumberAt(addresses, 2 * kWide));
    return true;
  };
  if (family == kTcp4) return taken(static_cast<const ip::address_v4*>(nullptr));
  if (family == kTcp6) return taken(static_cast<const ip::address_v6*>(nullptr));
  return true;
}

}  // namespace dpledger::front
