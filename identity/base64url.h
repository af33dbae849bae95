// The base 64 of JOSE and of our tokens: the alphabet of RFC 4648, section 5, without padding;
// every value has exactly one encoding. Thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dpledger::identity {

std::string Base64UrlEncode(std::string_view bytes);
// nullopt for anything that Base64UrlEncode does not write: padding, blanks, spare bits that are
// set, the other alphabet.
std::optional<std::string> Base64UrlDecode(std::string_view text);

}  // namespace dpledger::identity
