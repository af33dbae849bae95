// DP-SGD with its rounds in a ledger: that of a Recorder's events(), or of what a program puts
// between trainer and ledger, as an audit does whose control is a ledger that says false things.
#pragma once

#include <atomic>

#include "absl/status/status.h"
#include "examples/common/dataset.h"
#include "examples/common/network.h"
#include "examples/dp_sgd/steps.h"

namespace dpledger::client {
class EventRecorder;
}

namespace dpledger::dp_sgd {

// Runs the plan on `state` until it is done or `stop` is set, which is looked at between steps.
// `recorder` has each round before its sum is released. On an error `state` is that of the last
// step that succeeded.
absl::Status TrainOnEvents(const TrainingPlan& plan, const examples::Dataset& data,
                           examples::Network& network, client::EventRecorder& recorder,
                           const std::atomic<bool>& stop, const AfterStep& after_step,
                           TrainingState& state);

}  // namespace dpledger::dp_sgd
