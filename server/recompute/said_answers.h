// What was said of one ledger's ε over time, from whatever kept it. Pure functions.
#pragma once

#include <vector>

#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/recompute_service.pb.h"
#include "dpledger/v1/statement_service.pb.h"

namespace dpledger::server {

// Whether an answer in this adjacency, about groups of so many, is one of a single record in the
// ledger's own adjacency. Only such answers stand beside each other.
bool OfOneRecord(v1::Adjacency adjacency, uint64_t group_size, const v1::Ledger& ledger);

// What the statement said, as far as the register holds it. Precondition: it is about a ledger.
v1::LedgerSummary SaidBy(const v1::IssuedStatement& statement);

// The answers by time, the oldest first, each once, and what each gave back. Of two that are the
// same, the one stays of which more is known: who said it.
std::vector<v1::SaidAnswer> InOrder(std::vector<v1::SaidAnswer> answers);

}  // namespace dpledger::server
