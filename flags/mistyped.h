// Suggests the nearest command or flag for a mistyped word of the command line.
#pragma once

#include <string>

#include "flags/app.h"

namespace dpledger::flags {

// An error for the first word that `app` did not understand: "no command epsilom; did you mean
// epsilon?". Empty if it understood all. Call after app.parse().
std::string Mistyped(const App& app);

}  // namespace dpledger::flags
