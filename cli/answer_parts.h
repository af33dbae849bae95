// The parts that printed answers share. Private to the files that print them.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::cli {

// A line with a label and a value; none if there is no value.
std::string LabelledLine(const std::string& label, const std::string& value);
// The same of a value's parts, as absl::StrCat takes them.
template <typename... Parts>
std::string Row(const std::string& label, const Parts&... parts) {
  return LabelledLine(label, absl::StrCat(parts...));
}
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
// Rows for what a fork carries on from, and what a copy is of; their labels begin with `indent`.
std::string OriginText(const v1::Fork& fork, const std::string& indent = "");
std::string OriginText(const v1::Import& import, const std::string& indent = "");
// What stands behind an odometer's number wherever it is printed.
inline constexpr char kOdometerText[] = "by an odometer, which is no differential privacy";

// "1 ledger", "2 ledgers".
std::string Counted(uint64_t count, const std::string& one, const std::string& many);
// In UTC: "2026-11-28T00:16:23Z".
std::string TimeText(int64_t unix_seconds);
std::string TimeText(const google::protobuf::Timestamp& time);

}  // namespace dpledger::cli
