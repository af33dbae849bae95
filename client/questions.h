// What a trainer asks its server: how much noise a target needs, and what its ledger has come to.
//
// Each call is one of the server's, or a search by such calls, each with a deadline of a minute.
// INVALID_ARGUMENT names what is out of its domain; errors of the server. Thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "client/correlated_options.h"
#include "connection/server_access.h"

namespace grpc {
class Channel;
}
namespace dpledger::v1 {
class ComputeEpsilonResponse;
}

namespace dpledger::client {

struct Target {
  double epsilon = 0;
  double delta = 0;
};

// The least noise multiplier, on the safe side, with which `steps` rounds on Poisson samples stay
// within the target under ADD_OR_REMOVE_ONE.
absl::StatusOr<double> CalibrateNoise(const connection::ServerAccess& server, const Target& target,
                                      double sampling_probability, uint64_t steps);

// The same for a run with correlated noise, whose own noise multiplier is not read, to within a
// millionth. INVALID_ARGUMENT (epsilon) if 256, what the widest band takes, is not enough.
absl::StatusOr<double> CalibrateNoise(const connection::ServerAccess& server, const Target& target,
                                      CorrelatedOptions options, accountant::Adjacency adjacency);

// Of a whole ledger, `ledger` its full name, over the channel of its recorder.
absl::StatusOr<v1::ComputeEpsilonResponse> ComputeEpsilon(
    const std::shared_ptr<grpc::Channel>& channel, const std::string& ledger, double delta);

}  // namespace dpledger::client
