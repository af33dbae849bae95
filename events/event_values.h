// Converts event messages to event values and back, by the lists of fields that the values have
// (accountant/event/fields.h); nothing else does. Everybody who takes events checks them here: a
// trainer before it spools an event, the server before it stores one, the command line before it
// sends or counts one, an auditor before counting a stored one.
//
// A message gives a value only if it keeps every rule of proto/dpledger/v1/event.proto that does
// not depend on earlier events (for those: writer_rules.h): values in their domain, no unknown
// field or enum number, no unset oneof or message, trees of at most 32 levels, and no event too
// large for an entry. Errors are INVALID_ARGUMENT and name the field below the event, the rule and
// the value: "sum_query.query.noise_stddev: must be finite and > 0, got -1".
//
// Thread safe.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/event/event.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::events {

absl::StatusOr<accountant::Event> ValueOf(const v1::Event& event);
absl::StatusOr<accountant::SamplingScheme> ValueOf(const v1::SamplingScheme& scheme);
absl::StatusOr<accountant::SumQuery> ValueOf(const v1::SumQuery& query);

// Write every field that differs from an absent one: equal values, equal messages.
void ToMessage(const accountant::Event& event, v1::Event& message);
void ToMessage(const accountant::SamplingScheme& scheme, v1::SamplingScheme& message);
void ToMessage(const accountant::SumQuery& query, v1::SumQuery& message);

// OK where ValueOf gives a value, else its error.
absl::Status CheckEvent(const v1::Event& event);

}  // namespace dpledger::events
