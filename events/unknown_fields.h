// Refuses messages with fields that this version of the software does not know. A skipped field
// could be the one that states a privacy cost.
#pragma once

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace dpledger::events {

// INVALID_ARGUMENT naming the message's path and the field's number ("sum_query.query.99: field
// number is not known to this version") if `message`, at any depth, holds an unknown field; or
// naming the enum field and its number
// ("sum_query.query.noise: enum number 7 is not known to this version") if it holds an unknown enum
// number.
absl::Status CheckNoUnknownFields(const google::protobuf::Message& message);

// The same of the fields' numbers of `message` itself, not below it nor of its enums.
absl::Status CheckNoUnknownNumbers(const google::protobuf::Reflection& reflection,
                                   const google::protobuf::Message& message);

}  // namespace dpledger::events
