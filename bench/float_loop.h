// DP-SGD as it is usually written: norms, sums and noise in floats. To compare with; not private,
// for the last bits of float noise tell neighbouring inputs apart (docs/checks.md).
#pragma once

#include <vector>

#include "examples/common/dataset.h"
#include "examples/common/network.h"
#include "examples/dp_sgd/steps.h"

namespace dpledger::bench {

// Runs the plan's steps with all of its population in each.
void TrainByFloatLoop(const dp_sgd::TrainingPlan& plan, const examples::Dataset& data,
                      examples::Network& network, std::vector<float>& parameters);

}  // namespace dpledger::bench
