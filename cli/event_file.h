// Event files: one Event in proto JSON a line (docs/formats.md, section 5). A file is read and
// checked whole before anything is done with it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/from_proto/questions.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::cli {

struct EventFile {
  std::vector<v1::Event> events;  // in the order of the file; at least one
  accountant::History history;    // of the same events, as of one writer
};

// As a path: the events come from standard input.
inline constexpr char kStandardInput[] = "-";

// A UTF-8 byte-order mark at the start is passed over. NOT_FOUND if there is no such file.
// INVALID_ARGUMENT "<path>:<line>: <field>: <rule>" for the first line that is not a valid event,
// or that goes back to an earlier round or opens its round twice (what a ledger refuses of one
// writer), and for a file without an event.
absl::StatusOr<EventFile> ReadEventFile(const std::string& path);

}  // namespace dpledger::cli
