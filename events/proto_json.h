// Messages as proto JSON: https://protobuf.dev/programming-guides/json.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dpledger::events {

// Field names are in camelCase or as in the .proto. INVALID_ARGUMENT (INVALID_JSON) says where the
// text is no such JSON; INVALID_ARGUMENT names a field that is there twice. `what` the text should
// be is for the error: "an event". Unknown fields are refused, or passed over.
enum class Unknown { kRefused, kPassedOver };
absl::Status MessageFromJson(std::string_view json, std::string_view what,
                             google::protobuf::Message& message,
                             Unknown unknown = Unknown::kRefused);

// Names in camelCase. Fields that are zero or empty are left out, or printed where they are no
// message and no alternative of several.
enum class Zeros { kLeftOut, kPrinted };
std::string MessageToJson(const google::protobuf::Message& message, Zeros zeros = Zeros::kLeftOut);

}  // namespace dpledger::events
