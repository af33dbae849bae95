// The ledger of a benchmark, as it is asked for.
#pragma once

#include <string>

#include "dpledger/v1/ledger_service.pb.h"

namespace dpledger::bench {

inline v1::Declaration Declared() {
  v1::Declaration declaration;
  declaration.set_dataset("bench");
  declaration.set_unit_of_privacy("example");
  declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
  declaration.set_parameters(v1::FIXED);
  return declaration;
}

inline v1::CreateLedgerRequest NewLedger(const std::string& name) {
  v1::CreateLedgerRequest request;
  request.set_name(name);
  request.set_request_id("create");
  *request.mutable_declaration() = Declared();
  return request;
}

}  // namespace dpledger::bench
