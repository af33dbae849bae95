// Prints profiles as text, JSON and CSV, and audits as text and JSON.
#pragma once

#include <string>

#include "cli/json.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::cli {

// Which list the question gave; the answer's points are the other number.
enum class Asked { kEpsilons, kDeltas };

std::string ToText(const v1::ComputeProfileResponse& answer, Asked asked);
JsonObject ToJson(const v1::ComputeProfileResponse& answer, Asked asked);

std::string ToText(const v1::AuditClaimResponse& answer);
JsonObject ToJson(const v1::AuditClaimResponse& answer);

// A header, then a line of exact numbers for each point.
std::string PointsCsv(const v1::ComputeProfileResponse& answer, Asked asked);
std::string TradeOffCsv(const v1::ComputeProfileResponse& answer);

}  // namespace dpledger::cli
