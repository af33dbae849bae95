// The row of a ledger's run-length table. Value: the SHA-256 of the StoredHistory (32 bytes), the
// StoredHistory.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "dpledger/v1/stored.pb.h"

namespace dpledger::embedded {

std::string HistoryRow(const v1::StoredHistory& history);
// DATA_LOSS if `value` is not such a row.
absl::StatusOr<v1::StoredHistory> ParseHistoryRow(std::string_view value);

}  // namespace dpledger::embedded
