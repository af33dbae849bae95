// Which events a declaration's adjacency can never answer for: what is recorded under it has no ε
// for good. A trainer is told before it releases anything; docs/mechanisms.md has the table. Pure;
// thread safe.
#pragma once

#include "absl/status/status.h"
#include "dpledger/v1/event.pb.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::events {

// FAILED_PRECONDITION (NEVER_ANSWERED), naming the adjacencies that would do. Precondition:
// CheckEvent(event) is OK.
absl::Status CheckAnswerable(v1::Adjacency adjacency, const v1::Event& event);

}  // namespace dpledger::events
