#include "base/hex.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

namespace dpledger {

std::string HexEncode(std::string_view bytes) {
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

absl::StatusOr<std::string> HexDecode(std::string_view hex) {
  if (hex.size() % 2 != 0) return absl::InvalidArgumentError("odd number of hexadecimal digits");
  for (char c : hex) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) {
      return absl::InvalidArgumentError("not a hexadecimal digit");
    }
  }
  return absl::HexStringToBytes(absl::string_view(hex.data(), hex.size()));
}

}  // namespace dpledger
