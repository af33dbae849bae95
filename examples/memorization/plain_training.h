// SGD without any privacy: no clipping, no noise, no ledger. It is what private training is
// compared with; its model may hold every record that it saw.
#pragma once

#include "examples/common/dataset.h"
#include "examples/common/network.h"
#include "examples/dp_sgd/steps.h"

namespace dpledger::memorization {

// Runs the plan's steps on Poisson samples, as dp_sgd::Train does; its clip norm and noise
// multiplier are not looked at.
void TrainWithoutPrivacy(const dp_sgd::TrainingPlan& plan, const examples::Dataset& data,
                         examples::Network& network, dp_sgd::TrainingState& state);

}  // namespace dpledger::memorization
