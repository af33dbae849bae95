// Appends an event file to a ledger.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/server_calls.h"
#include "dpledger/v1/ledger_service.pb.h"

namespace dpledger::cli {

// Splits events into batches of at most 1000 events and about 1 MiB, with the request ids
// `request_id`, `request_id`.1, `request_id`.2, … The same events, ledger, writer, id and expected
// sequence give the same batches, so sending them again stores nothing twice.
std::vector<v1::AppendBatchRequest> MakeBatches(const v1::AppendBatchRequest& base,
                                                const std::vector<v1::Event>& events);

// Sends the batches in order, each after the receipt of the one before. An error's message says how
// many events are stored. The receipt covers all batches, with the size and root after the last.
absl::StatusOr<v1::Receipt> SendBatches(const std::vector<v1::AppendBatchRequest>& batches,
                                        ServerCalls& server);

}  // namespace dpledger::cli
