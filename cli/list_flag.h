// Flags that take several numbers, separated by commas: numbers, "0.1,0.5,1", and ranges,
// "FROM:TO:COUNT" (both ends included).
#pragma once

#include <string>
#include <vector>

#include "cli/flags.h"

namespace dpledger::cli {

// The spacing of a range's numbers: equal differences, or equal quotients (ends > 0).
enum class Spacing { kEven, kLogarithmic };

// The most numbers in one list.
inline constexpr size_t kGreatestListLength = 1000;

flags::Option* AddList(flags::App& app, const std::string& flag, std::vector<double>& values,
                       const RealDomain& domain, Spacing spacing, const std::string& help);

}  // namespace dpledger::cli
