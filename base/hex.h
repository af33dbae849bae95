// Converts bytes to lower-case hexadecimal and back.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dpledger {

std::string HexEncode(std::string_view bytes);
// INVALID_ARGUMENT unless `hex` is an even number of hexadecimal digits.
absl::StatusOr<std::string> HexDecode(std::string_view hex);

}  // namespace dpledger
