// Whether a run that was started again goes on as it was: the declaration FIXED says that schemes,
// noise and bounds were decided before anything was released, and who restarts a job with other
// flags breaks it unawares. Pure; thread safe.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "dpledger/v1/event.pb.h"
#include "dpledger/v1/ledger_service.pb.h"

namespace dpledger::events {

// FAILED_PRECONDITION (OTHER_CONFIGURATION), naming each field that differs, unless a round of this
// scheme and these queries has the configuration of the round in `before`: everything but the
// epoch, and the grids, which adaptive clipping moves without changing what the ledger counts. OK
// if `before` has no round.
absl::Status CheckResumedRound(const v1::AppendBatchRequest& before,
                               const v1::SamplingScheme& scheme,
                               const std::vector<v1::SumQuery>& queries);

}  // namespace dpledger::events
