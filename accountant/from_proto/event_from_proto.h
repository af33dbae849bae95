// The only place where an event message becomes an event value, and where its fields are checked.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/mechanism/event.h"
#include "dpledger/v1/event.pb.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::accountant {

// INVALID_ARGUMENT naming the field below the event and the rule ("sum_query.query.noise_stddev:
// must be finite and > 0, got -1") for a value out of its domain, an unknown field, an unknown enum
// number, an unset oneof, or a tree deeper than 32.
absl::StatusOr<Event> EventFromProto(const v1::Event& event);

// Checks a declaration the same way (fields relative to the declaration).
absl::Status CheckDeclaration(const v1::Declaration& declaration);

// One line of an event file: an Event in proto JSON (camelCase or proto names). INVALID_ARGUMENT
// says what is wrong.
absl::StatusOr<v1::Event> EventFromJson(std::string_view line);

// UNSPECIFIED is INVALID_ARGUMENT.
absl::StatusOr<Adjacency> AdjacencyFromProto(v1::Adjacency adjacency);

}  // namespace dpledger::accountant
