// Debian builds Abseil with a string_view of its own; these two turn one kind into the other,
// without a copy.
#pragma once

#include <string_view>

#include "absl/strings/string_view.h"

namespace dpledger {

inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view FromAbsl(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace dpledger
