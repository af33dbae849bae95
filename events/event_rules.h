// The rules for one event: every bound that proto/dpledger/v1/event.proto states. Everybody who
// takes events checks them here: a trainer before it spools an event, the server before it stores
// one, the command line before it sends or counts one, an auditor before counting a stored one.
//
// Errors are INVALID_ARGUMENT and name the field below the event, the rule and the value:
// "sum_query.query.noise_stddev: must be finite and > 0, got -1". Pure; thread safe.
#pragma once

#include "absl/status/status.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::events {

// Checks all rules that do not depend on earlier events (for those: writer_rules.h). Refuses values
// out of their domain, unknown fields and enum numbers, unset oneofs, trees deeper than 32, and an
// event too large for an entry.
absl::Status CheckEvent(const v1::Event& event);

// Check parts of events, for code that builds them. Unknown fields are not looked for.
absl::Status CheckScheme(const v1::SamplingScheme& scheme);
absl::Status CheckSumQuery(const v1::SumQuery& query);
absl::Status CheckMechanism(const v1::MechanismEvent& mechanism);

// How many rounds an epoch of the scheme has; 1 if rounds do not depend on each other.
uint64_t RoundsPerEpoch(const v1::SamplingScheme& scheme);

}  // namespace dpledger::events
