// Prints answers to questions, as text for people and as the JSON object that scripts depend on.
// Both are made from the wire's responses, so an answer looks the same whether this program or a
// server computed it.
#pragma once

#include <string>

#include "cli/json.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::cli {

std::string ToText(const v1::ComputeEpsilonResponse& answer);
std::string ToText(const v1::ComputeDeltaResponse& answer);
std::string ToText(const v1::CalibrateResponse& answer);
std::string ToText(const v1::ComputeTuningCostResponse& answer);

JsonObject ToJson(const v1::ComputeEpsilonResponse& answer);
JsonObject ToJson(const v1::ComputeDeltaResponse& answer);
JsonObject ToJson(const v1::CalibrateResponse& answer);
JsonObject ToJson(const v1::ComputeTuningCostResponse& answer);

}  // namespace dpledger::cli
