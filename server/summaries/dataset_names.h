// Names of data sets that are alike, so that one of them is a slip.
#pragma once

#include <string>
#include <string_view>

namespace dpledger::server {

// Whether the names (UTF-8) differ by case, blanks and punctuation alone; or, of four letters or
// more, by one letter that is another, is missing or has changed places with the next. Digits and
// letters that stand alone count as meant: neither visits-2025 nor visits-b is nearly visits-2026
// or visits-a.
bool AreNearlySame(std::string_view a, std::string_view b);

// What names have in common that look alike at the first glance: without case, blanks and
// punctuation, and with one letter for each shape (the Cyrillic а is an a, 0 is an o).
std::string ShapeOf(std::string_view name);

}  // namespace dpledger::server
