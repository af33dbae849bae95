// Prints ledgers, as text for people and as JSON.
#pragma once

#include <string>

#include "cli/json.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::cli {

std::string ToText(const v1::Ledger& ledger);
JsonObject ToJson(const v1::Ledger& ledger);

// The ledger as one line of a list.
std::string ToLine(const v1::Ledger& ledger);

}  // namespace dpledger::cli
