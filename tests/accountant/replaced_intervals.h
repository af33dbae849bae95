// ε of one epoch of random allocation at δ = 1e-6, z = 1, a record replaced by another one:
// intervals of a prototype that shares nothing with the accountant.
#pragma once

#include <cstdint>

namespace dpledger::accountant {

struct ReplacedInterval {
  uint64_t rounds;
  double low, high;
};
inline constexpr ReplacedInterval kReplacedIntervals[] = {
    {8, 3.617, 3.635}, {100, 1.0037, 1.0057}, {1000, .26730, .26785}, {10000, .07734, .07756}};

}  // namespace dpledger::accountant
