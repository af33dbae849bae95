// Finds the ledger that a recorder is to write, or makes it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/internal/backoff.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"

namespace dpledger::client::internal {

// The ledger `name`, made with `declaration` if there is none and `may_make`, else NOT_FOUND. Of
// its writers, who may be many, it holds `writer`, if the ledger has it. Tries again until
// `deadline` while the server cannot be reached. FAILED_PRECONDITION if it exists with another
// declaration (the message says what differs) or is sealed.
absl::StatusOr<v1::Ledger> OpenLedger(v1::LedgerService::StubInterface& stub,
                                      const std::string& name, const std::string& writer,
                                      const v1::Declaration& declaration, bool may_make,
                                      absl::Time deadline, Backoff backoff);

// 128 random bits as hexadecimal digits.
std::string NewRequestId();

}  // namespace dpledger::client::internal
