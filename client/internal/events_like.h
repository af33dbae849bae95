// What a run asks its budget for when a batch was refused. Private to client/.
#pragma once

#include <cstdint>

#include "dpledger/v1/event.pb.h"
#include "dpledger/v1/ledger_service.pb.h"

namespace dpledger::client::internal {

// `times` rounds (in whole epochs), or mechanisms, like the batch's last one: an event of a plan.
// Precondition: the batch has an event; times > 0.
v1::Event EventsLike(const v1::AppendBatchRequest& batch, uint64_t times);

}  // namespace dpledger::client::internal
