// The rules for declarations, and for a fork's declaration against its parent's. Pure; thread safe.
#pragma once

#include "absl/status/status.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::events {

// INVALID_ARGUMENT naming the field below the declaration and the rule, for a value out of its
// domain, an unknown field or enum number.
absl::Status CheckDeclaration(const v1::Declaration& declaration);
// INVALID_ARGUMENT for UNSPECIFIED.
absl::Status CheckAdjacency(v1::Adjacency adjacency);

// A mixture filter over the orders that clients declare. They cost three runs of DP-SGD one after
// another at most 7 % more than the one order that fits each best.
v1::Filter MixtureFilter(double epsilon, double delta);

// The declaration in a ledger's entry 0, which is a DECLARATION, a FORK or an IMPORT.
const v1::Declaration& DeclarationOf(const v1::LedgerEntry& first_entry);

// The name of the first field that a fork must inherit from its parent's declaration but does not;
// null if it inherits all of them.
const char* NotInherited(const v1::Declaration& parent, const v1::Declaration& child);

}  // namespace dpledger::events
