// Entries as lines of JSON, for people and their tools. Thread safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace dpledger::events {

// Converts an entry's stored bytes to a line of proto JSON; event bodies have the form of an event
// file's lines. DATA_LOSS if the bytes are not an entry.
absl::StatusOr<std::string> EntryToLine(const std::string& bytes);

}  // namespace dpledger::events
