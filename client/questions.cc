#include "client/questions.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "client/internal/call.h"
#include "client/noise_plan.h"
#include "connection/connection.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "grpcpp/channel.h"

namespace dpledger::client {
namespace {

using Stub = v1::AccountingService::Stub;

// A band takes no more.
constexpr double kMostNoise = 256;

// Nearer than the default, so that a run calibrated to a target is seen to keep it.
constexpr double kRelativeGap = 1e-5;
// Of runs in bins, whose interval is wide anyway, and each answer of which takes tenths of a
// second.
constexpr double kGapOfBins = 1e-3;

bool IsInBins(const CorrelatedOptions& options) {
  return std::holds_alternative<BallsInBinsSampling>(options.sampling);
}

// When a call ends: that much a calibration needs at most.
absl::Time Deadline() { return absl::Now() + absl::Minutes(1); }

// Messages number what values count from 0 on, behind UNSPECIFIED.
v1::Adjacency ToMessage(accountant::Adjacency adjacency) {
  static_assert(static_cast<int>(accountant::Adjacency::kZeroOut) + 1 == v1::ZERO_OUT);
  return static_cast<v1::Adjacency>(static_cast<int>(adjacency) + 1);
}

// An upper bound of what a run costs with its noise multiplier.
absl::StatusOr<double> EpsilonOf(Stub& stub, const CorrelatedOptions& options,
                                 v1::Adjacency adjacency, double delta) {
  ASSIGN_OR_RETURN(const NoisePlan noise, NoisePlan::For(options.sums));
  v1::ComputeEpsilonRequest request;
  ASSIGN_OR_RETURN(*request.mutable_subject()->add_events()->mutable_mechanism(),
                   EventOf(options, noise));
  request.set_delta(delta);
  request.mutable_options()->set_adjacency(adjacency);
  request.mutable_options()->set_parameters(v1::FIXED);
  request.mutable_options()->set_relative_gap(IsInBins(options) ? kGapOfBins : kRelativeGap);
  ASSIGN_OR_RETURN(const auto answer,
                   internal::Call(stub, &Stub::ComputeEpsilon, request, Deadline()));
  return answer.epsilon().upper();
}

}  // namespace

absl::StatusOr<double> CalibrateNoise(const connection::ServerAccess& server, const Target& target,
                                      double sampling_probability, uint64_t steps) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, Connect(server));
  const auto stub = v1::AccountingService::NewStub(channel);
  v1::CalibrateRequest request;
  request.set_epsilon(target.epsilon);
  request.set_delta(target.delta);
  request.set_solve(v1::NOISE_MULTIPLIER);
  request.set_sampling_probability(sampling_probability);
  request.set_steps(steps);
  request.mutable_options()->set_adjacency(v1::ADD_OR_REMOVE_ONE);
  request.mutable_options()->set_parameters(v1::FIXED);
  ASSIGN_OR_RETURN(const auto answer, internal::Call(*stub, &Stub::Calibrate, request, Deadline()));
  return answer.noise_multiplier();
}

absl::StatusOr<double> CalibrateNoise(const connection::ServerAccess& server, const Target& target,
                                      CorrelatedOptions options, accountant::Adjacency adjacency) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, Connect(server));
  const auto stub = v1::AccountingService::NewStub(channel);
  double low = 0, high = kMostNoise;
  options.sums.noise_multiplier = kMostNoise;
  RETURN_IF_ERROR(CheckOptions(options));
  const auto keeps = [&](double noise_multiplier) -> absl::StatusOr<bool> {
    options.sums.noise_multiplier = noise_multiplier;
    ASSIGN_OR_RETURN(const double epsilon,
                     EpsilonOf(*stub, options, ToMessage(adjacency), target.delta));
    return epsilon <= target.epsilon;
  };
  ASSIGN_OR_RETURN(const bool can_be_kept, keeps(kMostNoise));
  if (!can_be_kept) {
    return FieldError("epsilon", absl::StrCat("needs more noise than a multiplier of ", kMostNoise,
                                              ", got ", target.epsilon));
  }
  while (high - low > (IsInBins(options) ? kGapOfBins : 1e-6) * high) {
    const double middle = (low + high) / 2;
    ASSIGN_OR_RETURN(const bool kept, keeps(middle));
    (kept ? high : low) = middle;
  }
  return high;
}

absl::StatusOr<v1::ComputeEpsilonResponse> ComputeEpsilon(
    const std::shared_ptr<grpc::Channel>& channel, const std::string& ledger, double delta) {
  const auto stub = v1::AccountingService::NewStub(channel);
  v1::ComputeEpsilonRequest request;
  request.mutable_subject()->add_ledgers(ledger);
  request.set_delta(delta);
  request.mutable_options()->set_relative_gap(kRelativeGap);
  return internal::Call(*stub, &Stub::ComputeEpsilon, request, Deadline());
}

}  // namespace dpledger::client
