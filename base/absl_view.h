// Debian builds Abseil with a string_view type of its own. These functions convert between it and
// std::string_view, without a copy.
#pragma once

#include <string_view>

#include "absl/strings/string_view.h"

namespace dpledger {

inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view FromAbsl(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace dpledger
