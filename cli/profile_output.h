// Profiles and audits, as text, JSON and CSV, and as what is plotted of them.
#pragma once

#include <string>

#include "cli/json.h"
#include "cli/plot.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::cli {

// Which list was asked for: what the points' other number is.
enum class Asked { kEpsilons, kDeltas };

std::string ToText(const v1::ComputeProfileResponse& answer, Asked asked);
JsonObject ToJson(const v1::ComputeProfileResponse& answer, Asked asked);

std::string ToText(const v1::AuditClaimResponse& answer);
JsonObject ToJson(const v1::AuditClaimResponse& answer);

// A header and a line a point, of exact numbers.
std::string PointsCsv(const v1::ComputeProfileResponse& answer, Asked asked);
std::string TradeOffCsv(const v1::ComputeProfileResponse& answer);

// `local` names what the answer is about if that is no ledger; a ledger comes with its data set.
Plot PointsPlot(const v1::ComputeProfileResponse& answer, const std::string& local);
Plot TradeOffPlot(const v1::ComputeProfileResponse& answer, const std::string& local);

}  // namespace dpledger::cli
