// The summary that a question about one ledger gives. Functions; thread safe.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/summary.pb.h"

namespace dpledger::server {

// Of the answer, or of why there is none. `ledger` is as it was when it was asked about.
v1::LedgerSummary SummaryOf(const v1::Ledger& ledger, double delta, absl::Time time,
                            const absl::StatusOr<v1::ComputeEpsilonResponse>& answer);

}  // namespace dpledger::server
