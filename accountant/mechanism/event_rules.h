// The rules of event values: what proto/dpledger/v1/event.proto says of each field's domain.
// Resolve checks every value, so that none that breaks its rule reaches a composition, whoever made
// it.
#pragma once

#include "absl/status/status.h"
#include "accountant/mechanism/event.h"

namespace dpledger::accountant {

// OK, or INVALID_ARGUMENT naming the field, the rule and the value:
// "poisson.probability: must be in (0, 1], got -0.5". Trees are at most 32 levels deep.
absl::Status CheckRound(const Round& round);
absl::Status CheckMechanism(const Mechanism& mechanism);

}  // namespace dpledger::accountant
