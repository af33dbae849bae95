// The AccountingService, without a transport: proto/dpledger/v1/accounting_service.proto says what
// each call means.
//
// Time is bounded: a call ends at the caller's deadline, at `query_timeout`, or when the caller
// cancels. Thread safe. Calls compute in the calling thread.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "accountant/limits.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger_store/store.h"
#include "server/call_context.h"
#include "server/subject_source.h"

namespace dpledger::server {

struct AccountingLimits {
  absl::Duration query_timeout = absl::Seconds(30);
  size_t max_history_bytes = size_t{256} << 20;  // of ledgers' histories cached in memory
  double usual_delta = 1e-5;                     // of questions that state none
};

class AccountingService {
 public:
  // `store` must outlive the service. `signed_root` gives the signed root of a ledger's prefix
  // (lineage.h).
  AccountingService(LedgerStore* store, const AccountingLimits& limits,
                    SignedRoot signed_root = nullptr, TableKeeping tables = {})
      : limits_(limits),
        subjects_(store, limits.max_history_bytes, std::move(signed_root), std::move(tables)) {}

  absl::StatusOr<v1::ComputeEpsilonResponse> ComputeEpsilon(
      const v1::ComputeEpsilonRequest& request, const CallContext& call);
  absl::StatusOr<v1::ComputeDeltaResponse> ComputeDelta(const v1::ComputeDeltaRequest& request,
                                                        const CallContext& call);
  absl::StatusOr<v1::CalibrateResponse> Calibrate(const v1::CalibrateRequest& request,
                                                  const CallContext& call);
  absl::StatusOr<v1::ComputeTuningCostResponse> ComputeTuningCost(
      const v1::ComputeTuningCostRequest& request, const CallContext& call);
  absl::StatusOr<v1::ComputeProfileResponse> ComputeProfile(
      const v1::ComputeProfileRequest& request, const CallContext& call);
  absl::StatusOr<v1::AuditClaimResponse> AuditClaim(const v1::AuditClaimRequest& request,
                                                    const CallContext& call);

  // For other services that answer about ledgers: they share the histories in memory, and the
  // bounds.
  SubjectSource& subjects() { return subjects_; }
  const AccountingLimits& limits() const { return limits_; }
  accountant::Limits LimitsOf(const CallContext& call) const;

 private:
  template <typename Request>
  absl::StatusOr<accountant::Subject> SubjectOf(const Request& request,
                                                const accountant::Limits& limits);

  const AccountingLimits limits_;
  SubjectSource subjects_;
};

}  // namespace dpledger::server
