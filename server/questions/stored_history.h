// The run-length table that a store keeps beside a ledger's entries, so that a restarted server
// need not read them all again.
//
//  1. Derived. A table that does not fit the ledger is an error here; HistoryCache then drops it
//     and reads the entries. It answers from a table only if the table's frontier, with the entries
//     after it, leads to the ledger's root hash.
//  2. Authentic: a table that is answered from was made by a server with this signing key, from
//     entries that had the root of its frontier. Who can write to the store but does not have the
//     key can only bring an older table back, which then stands for the entries it was made of.
//     What is read again beside the table (entry 0 and the mechanisms) has the leaf hashes it had.
//  3. CheckHistory, an audit, needs no key: it counts the entries again.
//  4. A fork's table covers the fork's own entries only. A copy of another ledger gets a table once
//     it is complete.
// Functions; thread safe.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger_store/store.h"
#include "merkle/authenticator.h"
#include "server/questions/ledger_history.h"

namespace dpledger::server {

// The purpose of a table's key (merkle::Authenticator). Another one drops all tables.
inline constexpr char kHistoryPurpose[] = "dpledger history 1";

// Puts the key's authenticator into the table of `ledger`. Precondition: ToStored made the table.
void Authenticate(const merkle::Authenticator& key, const std::string& ledger,
                  v1::StoredHistory& table);

// The history's table, without an authenticator. nullopt if no table is kept of it: for an
// incomplete copy, a copy of a copy, more than 100,000 mechanisms, or a table of more than 16 MiB.
std::optional<v1::StoredHistory> ToStored(const LedgerHistory& history);

// Rebuilds a history from its table; reads entry 0 and the mechanisms from `store`. DATA_LOSS if no
// server with this key made the table for this ledger, or not of the entries that were read;
// errors of the store.
absl::StatusOr<LedgerHistory> FromStored(LedgerReader& store, const v1::Ledger& ledger,
                                         const merkle::Authenticator& key,
                                         const v1::StoredHistory& table);

// DATA_LOSS unless the ledger, as the store describes it, declares what entry 0 of its history
// does: the description may come from a copy of that entry.
absl::Status CheckDeclared(const v1::Ledger& ledger, const LedgerHistory& history);

// For an audit: makes the ledger's table again from the entries, and compares. OK if there is no
// table. DATA_LOSS naming the first difference; errors of GetHistory and ReadOn.
absl::Status CheckHistory(LedgerReader& store, const std::string& ledger,
                          const accountant::Limits& limits = {});

}  // namespace dpledger::server
