// How a statement words numbers, names and texts. Functions; thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/statement_service.pb.h"

namespace dpledger::server::statement {

// Text from outside: control characters but the line's end, and characters that change the
// direction of writing or show nothing, as [U+202E].
std::string Shown(std::string_view text);

// 4 digits, rounded outward; "no bound" for infinity.
std::string UpperText(double value);
std::string LowerText(double value);
// Exactly, in the fewest digits: a number that somebody stated.
std::string StatedText(double value);
// "10,000".
std::string CountText(uint64_t count);
// "1 ledger", "12 ledgers".
std::string Counted(uint64_t count, std::string_view one);
// A chance as a percentage, rounded up: "55.04 %".
std::string ChanceUp(double chance);

// "between 1.321 and 1.333", "at most 1.333; there is no lower end".
std::string IntervalWords(const v1::Interval& interval);

// Whether the answer's ε is of the regime ODOMETER, which no text may call differential privacy.
bool IsOdometer(const v1::Statement::Answer& answer);
// "privacy loss of the runs that happened <= 7.044, but for a probability of 1e-6 (an odometer: no
// differential privacy)". Precondition: IsOdometer.
std::string OdometerText(const v1::Statement::Answer& answer);

// "2027-01-01", in UTC.
std::string DayText(const google::protobuf::Timestamp& time);

// "one record is added or removed".
std::string AdjacencyWords(v1::Adjacency adjacency);

}  // namespace dpledger::server::statement
