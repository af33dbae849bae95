// Profiles as text and CSV, audits as text.
#pragma once

#include <string>

#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::cli {

// Which list the question gave; the answer's points are the other number.
enum class Asked { kEpsilons, kDeltas };

std::string ToText(const v1::ComputeProfileResponse& answer, Asked asked);

std::string ToText(const v1::AuditClaimResponse& answer);

// A header, then a line of exact numbers for each point.
std::string PointsCsv(const v1::ComputeProfileResponse& answer, Asked asked);
std::string TradeOffCsv(const v1::ComputeProfileResponse& answer);

}  // namespace dpledger::cli
