#include "examples/common/privacy_service.h"

#include <grpcpp/client_context.h>

#include <chrono>

#include "client/connection.h"

namespace dpledger::examples {
namespace {

// Calls `method` with a deadline that a calibration needs at most.
template <typename Response, typename Stub, typename Request>
absl::StatusOr<Response> Call(Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (!status.ok()) return client::FromGrpc(status);
  return response;
}

}  // namespace

PrivacyService::PrivacyService(const std::string& server) {
  const auto channel = client::Connect(server);
  accounting_ = v1::AccountingService::NewStub(channel);
  ledgers_ = v1::LedgerService::NewStub(channel);
}

absl::StatusOr<double> PrivacyService::CalibrateNoise(double epsilon, double delta,
                                                      double probability, uint64_t steps) {
  v1::CalibrateRequest request;
  request.set_epsilon(epsilon);
  request.set_delta(delta);
  request.set_solve(v1::NOISE_MULTIPLIER);
  request.set_sampling_probability(probability);
  request.set_steps(steps);
  request.mutable_options()->set_adjacency(v1::ADD_OR_REMOVE_ONE);
  request.mutable_options()->set_parameters(v1::FIXED);
  const auto response = Call(*accounting_, &v1::AccountingService::Stub::Calibrate, request);
  if (!response.ok()) return response.status();
  return response->noise_multiplier();
}

absl::StatusOr<v1::ComputeEpsilonResponse> PrivacyService::ComputeEpsilon(const std::string& ledger,
                                                                          double delta) {
  v1::ComputeEpsilonRequest request;
  request.mutable_subject()->add_ledgers(ledger);
  request.set_delta(delta);
  // Nearer than the default, so that a run calibrated to a target is seen to keep it.
  request.mutable_options()->set_relative_gap(1e-5);
  return Call(*accounting_, &v1::AccountingService::Stub::ComputeEpsilon, request);
}

absl::StatusOr<double> PrivacyService::EpsilonOf(const v1::MechanismEvent& mechanism,
                                                 v1::Adjacency adjacency, double delta) {
  v1::ComputeEpsilonRequest request;
  *request.mutable_subject()->add_events()->mutable_mechanism() = mechanism;
  request.set_delta(delta);
  request.mutable_options()->set_adjacency(adjacency);
  request.mutable_options()->set_parameters(v1::FIXED);
  request.mutable_options()->set_relative_gap(1e-5);
  const auto response = Call(*accounting_, &v1::AccountingService::Stub::ComputeEpsilon, request);
  if (!response.ok()) return response.status();
  return response->epsilon().upper();
}

absl::StatusOr<v1::Ledger> PrivacyService::GetLedger(const std::string& ledger) {
  v1::GetLedgerRequest request;
  request.set_name(ledger);
  return Call(*ledgers_, &v1::LedgerService::Stub::GetLedger, request);
}

absl::StatusOr<v1::AuditClaimResponse> PrivacyService::Audit(const std::string& ledger,
                                                             double delta,
                                                             const v1::OneRunAudit& run) {
  v1::AuditClaimRequest request;
  if (!ledger.empty()) request.mutable_subject()->add_ledgers(ledger);
  request.set_delta(delta);
  *request.mutable_one_run() = run;
  return Call(*accounting_, &v1::AccountingService::Stub::AuditClaim, request);
}

}  // namespace dpledger::examples
