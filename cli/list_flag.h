// Flags that take several numbers: "0.1,0.5,1", ranges "FROM:TO:COUNT" (both ends included), or
// both between commas.
#pragma once

#include <string>
#include <vector>

#include "cli/flags.h"

namespace dpledger::cli {

// How the numbers of a range lie: at equal differences or at equal quotients (ends > 0).
enum class Spacing { kEven, kLogarithmic };

// At most this many numbers in one list.
inline constexpr size_t kGreatestListLength = 1000;

CLI::Option* AddList(CLI::App& app, const std::string& flag, std::vector<double>& values,
                     const RealDomain& domain, Spacing spacing, const std::string& help);

}  // namespace dpledger::cli
