// Text of others, such as names of data sets, as it may stand in a line for people.
#pragma once

#include <string>
#include <string_view>

namespace dpledger::cli {

// The text with what nobody sees, or what a terminal acts on, spelt out as the page spells it:
// controls, marks of direction and characters without a width as ⟨U+202E⟩, bytes that are not
// UTF-8 as ⟨0xFF⟩. A name cannot begin a line of its own.
std::string Shown(std::string_view text);

// The same for a whole answer, whose lines end where they end.
std::string ShownLines(std::string_view text);

}  // namespace dpledger::cli
