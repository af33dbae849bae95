// Constants of more than one file.
#pragma once

#include <limits>

namespace dpledger::accountant {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kLogSqrtTwoPi = 0.91893853320467274178;  // log √(2π)

}  // namespace dpledger::accountant
