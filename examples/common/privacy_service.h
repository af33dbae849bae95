// What the example programs ask their server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"

namespace dpledger::examples {

class PrivacyService {
 public:
  explicit PrivacyService(const std::string& server);

  // The least noise multiplier, on the safe side, with which `steps` rounds stay within the target.
  absl::StatusOr<double> CalibrateNoise(double epsilon, double delta, double probability,
                                        uint64_t steps);
  absl::StatusOr<v1::ComputeEpsilonResponse> ComputeEpsilon(const std::string& ledger,
                                                            double delta);
  // An upper bound of what one mechanism alone costs.
  absl::StatusOr<double> EpsilonOf(const v1::MechanismEvent& mechanism, v1::Adjacency adjacency,
                                   double delta);
  absl::StatusOr<v1::Ledger> GetLedger(const std::string& ledger);
  // What an audit in one run says at that δ and 95 % confidence; of the claim of `ledger`, unless
  // that is empty.
  absl::StatusOr<v1::AuditClaimResponse> Audit(const std::string& ledger, double delta,
                                               const v1::OneRunAudit& run);

 private:
  std::unique_ptr<v1::AccountingService::Stub> accounting_;
  std::unique_ptr<v1::LedgerService::Stub> ledgers_;
};

}  // namespace dpledger::examples
