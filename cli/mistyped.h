// Words of a command line that name no command and no flag, and the nearest ones that exist.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dpledger::cli {

// What is wrong with the first word that `app` did not understand: "no command epsilom; did you
// mean epsilon?". Empty if it understood all. Call after app.parse().
std::string Mistyped(const CLI::App& app);

}  // namespace dpledger::cli
