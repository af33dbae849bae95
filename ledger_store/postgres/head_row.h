// A ledger's head as a row of the table `ledgers`. Pure; thread safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "ledger/ledger_head.h"
#include "ledger_store/postgres/values.h"

namespace dpledger::postgres {

// What HeadFromRow reads of the table `ledgers`, in its order. Entry 0 is read where the entries
// are: the copy in the column first_entry, which servers may update, is not believed.
inline constexpr char kHeadColumns[] =
    "name, head, writers, next_seq, root,"
    " (SELECT c.body FROM @.chunks AS c WHERE c.ledger = name AND c.first_seq = 0),"
    " (SELECT c.body_sha256 FROM @.chunks AS c WHERE c.ledger = name AND c.first_seq = 0)";

// DATA_LOSS if they do not fit together.
absl::StatusOr<LedgerHead> HeadFromRow(const Rows& rows, int row);

// The columns `head` and `writers`.
std::string HeadColumn(const LedgerHead& head);
std::string WritersColumn(const LedgerHead& head);

}  // namespace dpledger::postgres
