// Base 64 as the C2SP documents use it: the standard alphabet of RFC 4648, section 4, with padding;
// every value has exactly one encoding. No I/O. Thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dpledger::merkle {

std::string Base64Encode(std::string_view bytes);
// nullopt for anything that Base64Encode does not write: blanks, missing padding, bits set in the
// padding.
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace dpledger::merkle
