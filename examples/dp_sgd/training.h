// DP-SGD with its rounds in a ledger.
#pragma once

#include "dpledger/client.h"
#include "examples/dp_sgd/steps.h"

namespace dpledger::dp_sgd {

// RunSteps, each of whose rounds `recorder` has before its sum is released.
absl::Status Train(const TrainingPlan& plan, const examples::Dataset& data,
                   examples::Network& network, const Recorder& recorder,
                   const std::atomic<bool>& stop, const AfterStep& after_step,
                   TrainingState& state);

}  // namespace dpledger::dp_sgd
