// The parts that printed answers and ledgers share. Private to the files that print them.
#pragma once

#include <string>

#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::cli {

// A line with a label and a value.
std::string Row(const std::string& label, const std::string& value);
// The bound to report, then its interval.
std::string BoundRow(const std::string& label, const v1::Interval& interval);
// The same for a number whose regime `details` name: an odometer's contains no true value, and says
// so.
std::string BoundRow(const std::string& label, const v1::Interval& interval,
                     const v1::AnswerDetails& details);
// Whether releases may be missing in one of the answer's ledgers.
bool MayBeShort(const v1::AnswerDetails& details);
// Rows for the releases that may be missing. They are printed right below the bound, because its
// reader has to see them.
std::string MissingText(const v1::AnswerDetails& details);
std::string DetailsText(const v1::AnswerDetails& details);
// What stands behind an odometer's number wherever it is printed.
inline constexpr char kOdometerText[] = "by an odometer, which is no differential privacy";

}  // namespace dpledger::cli
