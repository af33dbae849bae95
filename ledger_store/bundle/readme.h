// The text of the first member of every bundle: what the file is, and how to check it without this
// program.
#pragma once

#include <string_view>

namespace dpledger::bundle {

extern const std::string_view kReadme;

}  // namespace dpledger::bundle
