// A trainer's declaration as the message of it.
#pragma once

#include "client/declaration.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::client::internal {

v1::Adjacency ToMessage(accountant::Adjacency adjacency);
// UNSPECIFIED stands for what is not set.
v1::Declaration ToMessage(const Declaration& declaration);

}  // namespace dpledger::client::internal
