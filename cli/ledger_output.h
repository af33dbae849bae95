// Prints ledgers and entries, as text for people and as JSON.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/json.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::cli {

std::string ToText(const v1::Ledger& ledger);
JsonObject ToJson(const v1::Ledger& ledger);

// The ledger as one line of a list.
std::string ToLine(const v1::Ledger& ledger);

// Converts an entry's stored bytes to a line of proto JSON; event bodies have the form of an event
// file's lines. DATA_LOSS if the bytes are not an entry.
absl::StatusOr<std::string> EntryToLine(const std::string& bytes);

}  // namespace dpledger::cli
