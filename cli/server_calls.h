// The commands' client of one server, or of the services over ledgers at rest. Each call has a
// deadline. If the server cannot be reached, a call is UNAVAILABLE, with the server's address in
// the message.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/ledger_place.h"
#include "connection/log_keys.h"
#include "connection/server_access.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/admin_service.pb.h"
#include "dpledger/v1/audit_service.pb.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "dpledger/v1/recompute_service.pb.h"
#include "dpledger/v1/statement_service.pb.h"
#include "ledger_store/bundle/served_ledger.h"

namespace dpledger::cli {

class ServerCalls : public bundle::ServedLedgers {
 public:
  // The first call connects. If `server` cannot be dialled at all (client::Connect), every call
  // says why.
  explicit ServerCalls(const connection::ServerAccess& server);
  // `costs`: OpenAtRest. If the ledgers cannot be opened, every call says why.
  explicit ServerCalls(const LedgerPlace& place, bool costs = false);

  // The ledgers at rest. Their error if they cannot be opened. Precondition: they are at rest.
  absl::StatusOr<OpenPlace> place() const { return place_; }
  // `name`, or the only ledger at rest if it is empty. INVALID_ARGUMENT naming `flag` and all of
  // them if there are several.
  absl::StatusOr<std::string> NameOr(const std::string& name, const std::string& flag) const;
  // Adds to an answer what could not be checked of ledgers at rest.
  void Assume(v1::AnswerDetails& details) const;

  absl::StatusOr<v1::ComputeEpsilonResponse> Ask(const v1::ComputeEpsilonRequest& request);
  absl::StatusOr<v1::ComputeDeltaResponse> Ask(const v1::ComputeDeltaRequest& request);
  absl::StatusOr<v1::ComputeTuningCostResponse> Ask(const v1::ComputeTuningCostRequest& request);
  absl::StatusOr<v1::ComputeProfileResponse> Ask(const v1::ComputeProfileRequest& request);
  absl::StatusOr<v1::CalibrateResponse> Ask(const v1::CalibrateRequest& request);
  absl::StatusOr<v1::AuditClaimResponse> Ask(const v1::AuditClaimRequest& request);

  absl::StatusOr<v1::Statement> Ask(const v1::GetStatementRequest& request);

  absl::StatusOr<v1::Operation> Begin(const v1::StartRecomputeRequest& request);
  absl::StatusOr<v1::Operation> Get(const v1::GetOperationRequest& request);
  absl::StatusOr<v1::Operation> Cancel(const v1::CancelOperationRequest& request);
  absl::StatusOr<v1::ListOperationsResponse> List(const v1::ListOperationsRequest& request);
  absl::StatusOr<v1::ListRecomputedResponse> List(const v1::ListRecomputedRequest& request);

  absl::StatusOr<v1::Ledger> Create(const v1::CreateLedgerRequest& request);
  absl::StatusOr<v1::Ledger> Get(const std::string& name,
                                 const std::string& first_writer = "") override;
  absl::StatusOr<v1::ListLedgersResponse> List(const v1::ListLedgersRequest& request);
  absl::StatusOr<v1::ListDatasetsResponse> List(const v1::ListDatasetsRequest& request);
  // Calls `take` with each answer until it gives an error, which is returned, or the stream ends.
  absl::Status Watch(const v1::WatchLedgersRequest& request,
                     const std::function<absl::Status(const v1::WatchLedgersResponse&)>& take);
  absl::StatusOr<v1::Receipt> Append(const v1::AppendBatchRequest& request);
  absl::StatusOr<v1::ReadEntriesResponse> Read(const v1::ReadEntriesRequest& request) override;
  absl::StatusOr<v1::Ledger> Seal(const v1::SealLedgerRequest& request);
  absl::StatusOr<v1::Ledger> Fork(const v1::ForkLedgerRequest& request);

  absl::StatusOr<v1::GetCheckpointResponse> Ask(const v1::GetCheckpointRequest& request) override;
  absl::StatusOr<v1::GetInclusionProofResponse> Ask(
      const v1::GetInclusionProofRequest& request) override;
  absl::StatusOr<v1::GetTileResponse> Ask(const v1::GetTileRequest& request) override;
  absl::StatusOr<v1::ListRegistrationsResponse> Ask(
      const v1::ListRegistrationsRequest& request) override;

  absl::StatusOr<v1::CreateTokenResponse> Create(const v1::CreateTokenRequest& request);
  absl::StatusOr<v1::ListTokensResponse> List(const v1::ListTokensRequest& request);
  absl::StatusOr<v1::RotateTokenResponse> Rotate(const v1::RotateTokenRequest& request);
  absl::StatusOr<v1::RevokeTokenResponse> Revoke(const v1::RevokeTokenRequest& request);
  absl::StatusOr<v1::ListAccessResponse> List(const v1::ListAccessRequest& request);

 private:
  struct Stubs;  // of gRPC's services, whose headers are large

  ServerCalls(std::string address, absl::StatusOr<OpenPlace> place,
              absl::StatusOr<std::shared_ptr<grpc::Channel>> channel);

  static ServerCalls AtRest(const LedgerPlace& place, bool costs);

  const absl::StatusOr<OpenPlace> place_;
  connection::LogKeys log_keys_;
  std::shared_ptr<Stubs> stubs_;
};

}  // namespace dpledger::cli
