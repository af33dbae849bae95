// Finds the ledger that a recorder is to write, or makes it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/internal/backoff.h"
#include "connection/servers.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"

namespace dpledger::client::internal {

struct WantedLedger {
  const std::string& name;
  const v1::Declaration& declaration;
  bool new_dataset = false;  // as CreateLedgerRequest says
  bool may_make = true;
};

// The ledger, made if there is none and it may be, else NOT_FOUND. Of
// its writers, who may be many, it holds `writer`, if the ledger has it. Tries again until
// `deadline` while no server can be reached. FAILED_PRECONDITION if it exists with another
// declaration (the message says what differs) or is sealed.
absl::StatusOr<v1::Ledger> OpenLedger(connection::Servers& servers, const WantedLedger& wanted,
                                      const std::string& writer, absl::Time deadline,
                                      Backoff backoff);

// 128 random bits as hexadecimal digits.
std::string NewRequestId();

}  // namespace dpledger::client::internal
