// UTF-8 as RFC 3629 has it: the shortest form, no surrogates, nothing above U+10FFFF.
#pragma once

#include <optional>
#include <string_view>

namespace dpledger {

// Takes one character from the front of `text`, which is not empty; nothing if it is not UTF-8.
std::optional<char32_t> TakeCharacter(std::string_view& text);

bool IsUtf8(std::string_view text);

}  // namespace dpledger
