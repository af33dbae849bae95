// The heads of ledgers, as the tables have them: the table `ledgers` has where a ledger ends, the
// table `writers` what its last append made of each writer.
//
// What is read is authentic (ledger/stored_head.h), and the ledger has no entries beyond it: an
// older head that is put back is damage.
//
// A head that this server has seen (HeadCache) is read no more; of one that other servers have
// moved on, only what they have added. Thread safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger/stored_head.h"
#include "ledger_store/postgres/database.h"
#include "ledger_store/staging/engine_store.h"

namespace dpledger::postgres {

// What is read first, of the table `ledgers`, in this order.
inline constexpr char kEndColumns[] = "name, next_seq, root, head";

// How to ask the database: in a transaction, or not.
using Ask = std::function<absl::StatusOr<std::vector<Rows>>(std::vector<Statement>)>;
Ask In(Connection& connection);

// The heads of the ledgers in `ends` (rows of kEndColumns), in their order. A ledger that goes on
// meanwhile is read as it is then. DATA_LOSS if what the tables say does not fit together, or is
// not as a server with a key of the database's left it; if `damaged` is given, such ledgers are
// left out and come there instead, by name.
absl::StatusOr<LedgerHeads> ReadHeads(Database& database, const Ask& ask, const Rows& ends,
                                      std::vector<DamagedLedger>* damaged = nullptr);
// The same, of those that the statement (which selects kEndColumns) finds, outside of transactions.
absl::StatusOr<LedgerHeads> ReadHeads(Database& database, const Statement& statement,
                                      std::vector<DamagedLedger>* damaged = nullptr);
// NOT_FOUND (LEDGER_NOT_FOUND) if there is none.
absl::StatusOr<std::shared_ptr<const LedgerHead>> ReadHead(Database& database,
                                                           const std::string& name);

// The column `head`.
std::string HeadColumn(const LedgerHead& head);

// As LedgerStore::RenewHeads: also writes the counts of data sets anew. Several servers may do it
// at once.
absl::StatusOr<uint64_t> RenewHeads(Database& database);

// As LedgerStore::Changed and ChangesEnd: which ledgers go on, whichever server writes to them.
// `since` is a length of the registry, which is the feed: every head that is signed is registered.
// What is not signed yet is looked at as long as it is not, by name and size. So appends write
// nothing for those who follow, and who follows reads no more heads than have changed.
absl::StatusOr<ChangedLedgers> ReadChanged(Database& database, uint64_t since, size_t limit,
                                           const KnownSizes& known);
absl::StatusOr<uint64_t> ReadChangesEnd(Database& database);

}  // namespace dpledger::postgres
