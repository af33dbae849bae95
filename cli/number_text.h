// Numbers as text: for people, with few digits, rounded in a bound's direction; for programs,
// exact.
#pragma once

#include <string>

#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::cli {

// At most seven significant digits; TextUp is never below, TextDown never above `value`.
std::string TextUp(double value);
std::string TextDown(double value);
// The same, rounded to nearest: for numbers that are not bounds, such as the question's delta.
std::string TextNear(double value);

// The fewest digits that identify `value`; "Infinity" or "-Infinity".
std::string ExactText(double value);

// "[lower, upper]", rounded outward.
std::string IntervalText(const v1::Interval& interval);

}  // namespace dpledger::cli
