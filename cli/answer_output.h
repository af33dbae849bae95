// Answers to questions as text for people, made from the wire's responses: an answer looks the same
// whether this program or a server computed it.
#pragma once

#include <string>

#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::cli {

std::string ToText(const v1::ComputeEpsilonResponse& answer);
std::string ToText(const v1::ComputeDeltaResponse& answer);
std::string ToText(const v1::CalibrateResponse& answer);
std::string ToText(const v1::ComputeTuningCostResponse& answer);

}  // namespace dpledger::cli
