// Event files: one Event in proto JSON a line.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::events {

// One line: field names in camelCase or as the proto has them. INVALID_ARGUMENT says what is wrong
// with the spelling; what the event may be is CheckEvent's to say.
absl::StatusOr<v1::Event> EventFromJson(std::string_view line);

}  // namespace dpledger::events
