// Names of data sets that are alike, so that one of them is a slip.
#pragma once

#include <string_view>

namespace dpledger::server {

// Whether the names differ by case, blanks and punctuation alone; or, of four letters or more, by
// one letter that is another, is missing or has changed places with the next. Digits count as
// meant: visits-2025 is not nearly visits-2026.
bool AreNearlySame(std::string_view a, std::string_view b);

}  // namespace dpledger::server
