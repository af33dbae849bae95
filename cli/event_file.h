// Event files: one Event in proto JSON a line (docs/formats.md, section 5). The whole file is read
// and checked before any of it is used.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dpledger/v1/event.pb.h"
#include "questions/given_events.h"

namespace dpledger::cli {

struct EventFile {
  std::vector<v1::Event> events;  // in the order of the file; at least one
  questions::GivenEvents given;   // the same events, as of one writer
};

// "-" is standard input. Skips a UTF-8 byte-order mark at the start. NOT_FOUND if there is no such
// file. INVALID_ARGUMENT
// "<path>:<line>: <field>: <rule>" for the first line that is not a valid event, and for a file
// without events. What a ledger would refuse of one writer (e.g. a round number that goes back) is
// refused with the same error, prefixed with file and line.
absl::StatusOr<EventFile> ReadEventFile(const std::string& path);

}  // namespace dpledger::cli
