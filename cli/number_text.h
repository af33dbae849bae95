// Numbers for people: few digits, rounded the way that keeps a bound a bound. And for programs:
// exact ones.
#pragma once

#include <string>

#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::cli {

// At most seven significant digits, never below / never above `value`.
std::string TextUp(double value);
std::string TextDown(double value);
// The same, rounded to nearest: for numbers that bound nothing, such as a delta that was asked
// about.
std::string TextNear(double value);

// The fewest digits that name `value` exactly; "Infinity" or "-Infinity".
std::string ExactText(double value);

// "[lower, upper]", rounded outward.
std::string IntervalText(const v1::Interval& interval);

}  // namespace dpledger::cli
