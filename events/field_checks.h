// Checks from which the rules for message fields are built: those for any value
// (base/value_rules.h), and what only a message can lack.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/value_rules.h"
#include "google/protobuf/message.h"

namespace dpledger::events {

using rules::AtLeast;
using rules::Count;
using rules::Element;
using rules::GreaterThan;
using rules::kMaxWhole;
using rules::Must;
using rules::NonNegative;
using rules::NonNegativeOrInfinite;
using rules::NotEmpty;
using rules::Ordinal;
using rules::Positive;
using rules::Probability;
using rules::SamplingProbability;
using rules::Text;
using rules::WholeDouble;
using rules::WholeIn;
using rules::Within;

absl::Status MustBeSet(bool is_set, std::string_view field);

// INVALID_ARGUMENT "kind: must be set to one of a, b, c".
absl::Status NoneIsSet(const google::protobuf::OneofDescriptor& oneof);

// The name of the field that the message's oneof `kind` holds, as the .proto spells it.
// NoneIsSet if it holds none.
absl::StatusOr<std::string_view> KindOf(const google::protobuf::Message& message);

}  // namespace dpledger::events
