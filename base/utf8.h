// UTF-8 as RFC 3629 defines it: the shortest form, no surrogates, nothing above U+10FFFF.
#pragma once

#include <optional>
#include <string_view>

namespace dpledger {

// Removes one character from the front of `text` and returns it; nullopt if the front is not UTF-8.
// Precondition: `text` is not empty.
std::optional<char32_t> TakeCharacter(std::string_view& text);

bool IsUtf8(std::string_view text);

}  // namespace dpledger
