// Messages as proto JSON: https://protobuf.dev/programming-guides/json.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dpledger::events {

// Field names are in camelCase or as in the .proto. INVALID_ARGUMENT (INVALID_JSON) says where the
// text is no such JSON; INVALID_ARGUMENT names a field that is there twice. `what` the text should
// be is for the error: "an event".
absl::Status MessageFromJson(std::string_view json, std::string_view what,
                             google::protobuf::Message& message);

// Names in camelCase; fields that are zero or empty are left out.
std::string MessageToJson(const google::protobuf::Message& message);

}  // namespace dpledger::events
