// What a declaration may be, and what ledgers may have to do with each other by what they declare.
// Pure; thread safe.
#pragma once

#include "absl/status/status.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::events {

// INVALID_ARGUMENT naming the field below the declaration and the rule, for a value out of its
// domain, an unknown field or enum number.
absl::Status CheckDeclaration(const v1::Declaration& declaration);
// UNSPECIFIED is refused.
absl::Status CheckAdjacency(v1::Adjacency adjacency);

// What a ledger is declared to be, wherever its entry 0 says so.
const v1::Declaration& DeclarationOf(const v1::LedgerEntry& first_entry);

// The first field that a fork's declaration must have from its parent's and has not; null if it has
// them all.
const char* NotInherited(const v1::Declaration& parent, const v1::Declaration& child);

}  // namespace dpledger::events
