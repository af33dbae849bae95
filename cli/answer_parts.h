// What the printed answers have in common. For the files that print answers, and for nobody else.
#pragma once

#include <string>

#include "cli/json.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::cli {

// A line: the label, and what stands beside it.
std::string Row(const std::string& label, const std::string& value);
// The bound to report first, then the interval it comes from.
std::string BoundRow(const std::string& label, const v1::Interval& interval);

std::string DetailsText(const v1::AnswerDetails& details);
void AddDetails(const v1::AnswerDetails& details, JsonObject& object);

// {"lower":…,"upper":…}
std::string Json(const v1::Interval& interval);

}  // namespace dpledger::cli
