// Which events have no analysis under a declared adjacency: a ledger that holds one never gets an
// ε. The check tells a trainer before it releases anything; docs/mechanisms.md has the table. Pure;
// thread safe.
#pragma once

#include "absl/status/status.h"
#include "dpledger/v1/event.pb.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::events {

// FAILED_PRECONDITION (NEVER_ANSWERED), naming the adjacencies under which the event has an
// analysis. Precondition: CheckEvent(event) is OK.
absl::Status CheckAnswerable(v1::Adjacency adjacency, const v1::Event& event);

}  // namespace dpledger::events
