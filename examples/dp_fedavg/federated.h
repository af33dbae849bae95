// DP-FedAvg (McMahan et al. 2018, arXiv 1710.06963): one record is one user. In each round every
// user is sampled with the same probability, trains from the current model on its own examples, and
// sends the difference; the clipped differences are summed, noised, and divided by the *expected*
// number of users.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "dpledger/client.h"
#include "examples/common/dataset.h"
#include "examples/common/network.h"

namespace dpledger::dp_fedavg {

struct FederatedPlan {
  // Each user's rows of the data. How many users there are is a declared public constant.
  std::vector<std::vector<size_t>> users;
  double expected_users = 0;  // in a round, in (0, users.size()]
  uint64_t rounds = 0;
  double noise_multiplier = 0;
  double clip_norm = 0;  // of a user's difference; the first one, if it adapts
  std::optional<AdaptiveClipNorm> adaptive;
  uint64_t local_passes = 1;
  double local_learning_rate = 0;
  double server_learning_rate = 1;

  double probability() const { return expected_users / static_cast<double>(users.size()); }
};

struct FederatedState {
  std::vector<float> parameters;
  double clip_norm = 0;  // of the next round
  uint64_t rounds_done = 0;
};

// Runs the plan on `state` until it is done or `stop` is set, which is looked at between rounds. On
// an error `state` is that of the last round that succeeded.
absl::Status Train(const FederatedPlan& plan, const examples::Dataset& data,
                   examples::Network& network, const Recorder& recorder,
                   const std::atomic<bool>& stop, FederatedState& state);

// Deals rows 0 to count - 1 out to users in turn. `users` in [1, count].
std::vector<std::vector<size_t>> DealOut(size_t count, size_t users);

}  // namespace dpledger::dp_fedavg
