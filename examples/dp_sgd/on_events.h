// The same trainer on the client's inner interface, where a program puts itself between trainer and
// ledger: an audit whose control is a ledger that says false things, a test without a server.
#pragma once

#include "client/event_recorder.h"
#include "examples/dp_sgd/steps.h"

namespace dpledger::dp_sgd {

absl::Status TrainOnEvents(const TrainingPlan& plan, const examples::Dataset& data,
                           examples::Network& network, client::EventRecorder& recorder,
                           const std::atomic<bool>& stop, const AfterStep& after_step,
                           TrainingState& state);

}  // namespace dpledger::dp_sgd
