// Makes a ledger's summary of what ComputeEpsilon answers. Functions; thread safe.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/summary.pb.h"
#include "ledger_store/store.h"

namespace dpledger::server {

// Asks as a caller would.
using AskEpsilon =
    std::function<absl::StatusOr<v1::ComputeEpsilonResponse>(const v1::ComputeEpsilonRequest&)>;

// The question whose answer the summary holds.
v1::ComputeEpsilonRequest SummaryQuestion(const std::string& ledger, double delta);
// Whether the request is that question, about whichever ledger.
bool IsSummaryQuestion(const v1::ComputeEpsilonRequest& request, double delta);

// What the answer says of `ledger`, which is as it was when it was asked about; or that it was
// refused. Without what entries alone tell: conflicts, and the last one's time.
v1::LedgerSummary SummaryOf(const v1::Ledger& ledger, double delta,
                            const absl::StatusOr<v1::ComputeEpsilonResponse>& answer,
                            absl::Time now);

// A refusal is part of the summary, or of a data set's, as ComputeEpsilon words it. nullopt for an
// error that may pass.
std::optional<v1::Refusal> RefusalOf(const absl::Status& status);

// The summary of `ledger`, from an answer or a refusal. `before` may be null: the last summary,
// whose count of conflicts is carried on from the entries that follow. Errors of the store; the
// refusal itself if it may pass.
absl::StatusOr<v1::LedgerSummary> Summarise(
    LedgerReader& store, const v1::Ledger& ledger, double delta,
    const absl::StatusOr<v1::ComputeEpsilonResponse>& answer, const v1::LedgerSummary* before,
    absl::Time now);

}  // namespace dpledger::server
