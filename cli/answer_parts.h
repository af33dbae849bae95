// What printed answers and ledgers have in common. For the files that print them, and for nobody
// else.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>
#include <vector>

#include "cli/json.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::cli {

// A line: the label, and what stands beside it.
std::string Row(const std::string& label, const std::string& value);
// The bound to report first, then the interval it comes from.
std::string BoundRow(const std::string& label, const v1::Interval& interval);

// Whether releases may be missing in a ledger that the answer stands on.
bool MayBeShort(const v1::AnswerDetails& details);
// Rows for the releases that may be missing: whoever reads the bound has to read them too, so they
// come right below it.
std::string MissingText(const v1::AnswerDetails& details);
std::string DetailsText(const v1::AnswerDetails& details);
void AddDetails(const v1::AnswerDetails& details, JsonObject& object);

// {"lower":…,"upper":…}
std::string Json(const v1::Interval& interval);
std::string Json(const v1::Fork& fork);
std::string Json(const v1::Import& import);

std::vector<std::string> Texts(const google::protobuf::RepeatedPtrField<std::string>& field);

}  // namespace dpledger::cli
