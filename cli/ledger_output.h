// Ledgers, receipts and entries, as text for people and as JSON.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/json.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::cli {

std::string ToText(const v1::Ledger& ledger);
JsonObject ToJson(const v1::Ledger& ledger);

// One line for a list.
std::string ToLine(const v1::Ledger& ledger);

// An entry's stored bytes as a line of proto JSON (event bodies are lines of an event file).
// DATA_LOSS if they are not an entry.
absl::StatusOr<std::string> EntryToLine(const std::string& bytes);

}  // namespace dpledger::cli
