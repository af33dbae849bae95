// A ledger's head as a row of the table `ledgers`. Pure; thread safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "ledger/ledger_head.h"
#include "ledger_store/postgres/values.h"

namespace dpledger::postgres {

// The columns that HeadFromRow reads, in its order.
inline constexpr char kHeadColumns[] = "name, first_entry, head, writers, next_seq, root";

// DATA_LOSS if the columns do not fit together.
absl::StatusOr<LedgerHead> HeadFromRow(const Rows& rows, int row);

// The columns `head` and `writers`.
std::string HeadColumn(const LedgerHead& head);
std::string WritersColumn(const LedgerHead& head);

}  // namespace dpledger::postgres
