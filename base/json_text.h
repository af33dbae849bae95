// Strings of JSON.
#pragma once

#include <string>
#include <string_view>

namespace dpledger {

// `text` in quotes, escaped: control characters too. A byte that is not UTF-8 becomes the code
// point with the same number.
std::string JsonString(std::string_view text);

}  // namespace dpledger
