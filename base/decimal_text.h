// Numbers as decimal text, rounded in a bound's direction. Thread safe.
#pragma once

#include <string>

namespace dpledger {

// At most `digits` significant digits, in [1, 17]. DecimalUp is never below, DecimalDown never
// above `value`; DecimalNear is for numbers that are no bounds. "inf" and "-inf" if it is infinite.
std::string DecimalUp(double value, int digits);
std::string DecimalDown(double value, int digits);
std::string DecimalNear(double value, int digits);

}  // namespace dpledger
