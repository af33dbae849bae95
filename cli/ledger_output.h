// Ledgers as text for people.
#pragma once

#include <string>

#include "dpledger/v1/ledger.pb.h"

namespace dpledger::cli {

std::string ToText(const v1::Ledger& ledger);

// The ledger as one line of a list.
std::string ToLine(const v1::Ledger& ledger);

}  // namespace dpledger::cli
