// The only place where an event message becomes an event value.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/mechanism/event.h"
#include "dpledger/v1/event.pb.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::accountant {

// What events::CheckEvent says of it, or its value.
absl::StatusOr<Event> EventFromProto(const v1::Event& event);

// UNSPECIFIED is INVALID_ARGUMENT.
absl::StatusOr<Adjacency> AdjacencyFromProto(v1::Adjacency adjacency);

}  // namespace dpledger::accountant
