// The stored form of a ledger's summary: the message and its authenticator (docs/formats.md,
// section 2). Functions; thread safe.
#pragma once

#include "absl/status/statusor.h"
#include "dpledger/v1/summary.pb.h"
#include "ledger/ledger_head.h"
#include "ledger_store/store.h"
#include "merkle/authenticator.h"

namespace dpledger::server {

// The purpose of the key (merkle::Authenticator). Another one drops all summaries.
inline constexpr char kSummaryPurpose[] = "dpledger summary 1";

SummaryRow ToRow(const merkle::Authenticator& key, const v1::LedgerSummary& summary);

// DATA_LOSS unless a server with this key made the row, for this ledger.
absl::StatusOr<v1::LedgerSummary> FromRow(const merkle::Authenticator& key, const SummaryRow& row);

// Whether the summary is of this very ledger as far as the two can be compared: not of more entries
// than it has, and of its root where it covers all of them.
bool Fits(const v1::LedgerSummary& summary, const LedgerHead& ledger);
// Whether it says what would be computed now: of all entries, at this δ. A summary of an older
// version of the software stays until the ledger goes on, or somebody asks again.
bool IsCurrent(const v1::LedgerSummary* summary, const LedgerHead& ledger, double delta);

}  // namespace dpledger::server
