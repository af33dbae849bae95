// Event files: one Event in proto JSON a line (docs/formats.md, section 5). A file is read and
// checked whole before anything is done with it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dpledger/v1/event.pb.h"
#include "ledger/given_events.h"

namespace dpledger::cli {

struct EventFile {
  std::vector<v1::Event> events;  // in the order of the file; at least one
  accountant::GivenEvents given;  // the same events, as of one writer
};

// As a path: the events come from standard input.
inline constexpr char kStandardInput[] = "-";

// A UTF-8 byte-order mark at the start is passed over. NOT_FOUND if there is no such file.
// INVALID_ARGUMENT "<path>:<line>: <field>: <rule>" for the first line that is no event, and for a
// file without one. What a ledger would refuse of one writer (a round that goes back, ...) is
// refused in the same words, with the file and line before them.
absl::StatusOr<EventFile> ReadEventFile(const std::string& path);

}  // namespace dpledger::cli
