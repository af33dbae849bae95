// Converts event messages to event values; nothing else does.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/filter/filter.h"
#include "accountant/interval.h"
#include "accountant/mechanism/event.h"
#include "dpledger/v1/event.pb.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::accountant {

// The event's value, or the error of events::CheckEvent.
absl::StatusOr<Event> EventFromProto(const v1::Event& event);

// INVALID_ARGUMENT naming `declaration.filter` if no kind is set.
absl::StatusOr<filter::Filter> FilterFromProto(const v1::Filter& filter);

// INVALID_ARGUMENT for UNSPECIFIED.
absl::StatusOr<Adjacency> AdjacencyFromProto(v1::Adjacency adjacency);

}  // namespace dpledger::accountant
