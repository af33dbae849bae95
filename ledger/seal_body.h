// What a request to seal a ledger makes SEAL say of the writers that have not closed.
#pragma once

#include "absl/status/statusor.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "ledger/ledger_head.h"

namespace dpledger {

// Up to 500 missing writers as the request names them, else their number and digest
// (events/seal_rules.h). Errors as those of Seal (ledger/ledger_head.h). Pure; thread safe.
absl::StatusOr<v1::Seal> SealBody(const LedgerHead& head, const v1::SealLedgerRequest& request);

}  // namespace dpledger
