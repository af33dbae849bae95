// Suggests the nearest command or flag for a mistyped word of the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dpledger::cli {

// An error for the first word that `app` did not understand: "no command epsilom; did you mean
// epsilon?". Empty if it understood all. Call after app.parse().
std::string Mistyped(const CLI::App& app);

}  // namespace dpledger::cli
