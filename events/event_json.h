// Event files: one Event in proto JSON a line.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::events {

// Parses one line; field names are in camelCase or as in the .proto. INVALID_ARGUMENT says where
// the line is no such JSON. The event's values are not checked: see CheckEvent.
absl::StatusOr<v1::Event> EventFromJson(std::string_view line);

}  // namespace dpledger::events
