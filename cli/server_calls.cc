#include "cli/server_calls.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "connection/connection.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/admin_service.grpc.pb.h"
#include "dpledger/v1/audit_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "dpledger/v1/recompute_service.grpc.pb.h"
#include "dpledger/v1/statement_service.grpc.pb.h"

namespace dpledger::cli {
namespace {

// Longer than a server's own bound on a question, so that its answer, and not this, is what the
// user sees.
constexpr auto kDeadline = std::chrono::minutes(5);

constexpr auto kConnectPatience = std::chrono::seconds(1);

}  // namespace

struct ServerCalls::Stubs {
  std::string address;  // empty: at rest
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel;
  // Null if there is no channel.
  std::unique_ptr<v1::LedgerService::Stub> ledgers;
  std::unique_ptr<v1::AccountingService::Stub> accounting;
  std::unique_ptr<v1::AuditService::Stub> audit;
  std::unique_ptr<v1::AdminService::Stub> admin;
  std::unique_ptr<v1::StatementService::Stub> statements;
  std::unique_ptr<v1::RecomputeService::Stub> recompute;

  // Makes one call. Waits up to a second for the connection: the server may be just starting.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(const std::unique_ptr<Stub>& stub,
                                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request) const {
    RETURN_IF_ERROR(channel.status());
    // Whether it worked shows in the call itself, with the reason if not.
    if (!address.empty()) {
      (*channel)->WaitForConnected(std::chrono::system_clock::now() + kConnectPatience);
    }
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    Response response;
    const absl::Status status = connection::FromGrpc((*stub.*method)(&context, request, &response));
    if (status.ok()) return response;
    return WithAddress(status);
  }

  // The same error, with the server's address if nobody answers there.
  absl::Status WithAddress(const absl::Status& status) const {
    if (!absl::IsUnavailable(status)) return status;
    return WithReason(
        absl::UnavailableError(absl::StrCat("server ", address, ": ", status.message())),
        ReasonOf(status));
  }
};

ServerCalls::ServerCalls(const connection::ServerAccess& server)
    : ServerCalls(server.address, OpenPlace(), connection::Connect(server)) {
  if (!stubs_->channel.ok()) return;
  log_keys_ =
      *connection::LogKeys::Parse(connection::Complete(server)->log_key);  // Connect has checked it
}

ServerCalls::ServerCalls(const LedgerPlace& place, bool costs)
    : ServerCalls(place.AtRest() ? AtRest(place, costs) : ServerCalls(place.server)) {}

ServerCalls::ServerCalls(std::string address, absl::StatusOr<OpenPlace> place,
                         absl::StatusOr<std::shared_ptr<grpc::Channel>> channel)
    : place_(std::move(place)),
      stubs_(std::make_shared<Stubs>(Stubs{std::move(address), std::move(channel)})) {
  if (!stubs_->channel.ok()) return;
  const std::shared_ptr<grpc::Channel>& to = *stubs_->channel;
  stubs_->ledgers = v1::LedgerService::NewStub(to);
  stubs_->accounting = v1::AccountingService::NewStub(to);
  stubs_->audit = v1::AuditService::NewStub(to);
  stubs_->admin = v1::AdminService::NewStub(to);
  stubs_->statements = v1::StatementService::NewStub(to);
  stubs_->recompute = v1::RecomputeService::NewStub(to);
}

ServerCalls ServerCalls::AtRest(const LedgerPlace& place, bool costs) {
  absl::StatusOr<OpenPlace> opened = OpenAtRest(place, costs);
  if (!opened.ok()) return ServerCalls("", opened.status(), opened.status());
  std::shared_ptr<grpc::Channel> channel = opened->channel;
  return ServerCalls("", std::move(opened), std::move(channel));
}

absl::StatusOr<std::string> ServerCalls::NameOr(const std::string& name,
                                                const std::string& flag) const {
  if (!name.empty()) return name;
  RETURN_IF_ERROR(place_.status());
  if (place_->ledgers.size() == 1) return place_->ledgers.front();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": must name one of the ", place_->ledgers.size(),
                   " ledgers here: ", absl::StrJoin(place_->ledgers, ", ")));
}

void ServerCalls::Assume(v1::AnswerDetails& details) const {
  if (!place_.ok()) return;
  for (const std::string& one : place_->assumptions) details.add_assumptions(one);
}

absl::Status ServerCalls::Watch(
    const v1::WatchLedgersRequest& request,
    const std::function<absl::Status(const v1::WatchLedgersResponse&)>& take) {
  RETURN_IF_ERROR(stubs_->channel.status());
  (*stubs_->channel)->WaitForConnected(std::chrono::system_clock::now() + kConnectPatience);
  grpc::ClientContext context;  // without a deadline: it does not end by itself
  const auto reader = stubs_->ledgers->WatchLedgers(&context, request);
  v1::WatchLedgersResponse next;
  absl::Status taken;
  while (taken.ok() && reader->Read(&next)) taken = take(next);
  if (!taken.ok()) context.TryCancel();
  const absl::Status ended = connection::FromGrpc(reader->Finish());
  return taken.ok() ? stubs_->WithAddress(ended) : taken;
}

absl::StatusOr<v1::ComputeEpsilonResponse> ServerCalls::Ask(
    const v1::ComputeEpsilonRequest& request) {
  return stubs_->Call(stubs_->accounting, &v1::AccountingService::Stub::ComputeEpsilon, request);
}

absl::StatusOr<v1::ComputeDeltaResponse> ServerCalls::Ask(const v1::ComputeDeltaRequest& request) {
  return stubs_->Call(stubs_->accounting, &v1::AccountingService::Stub::ComputeDelta, request);
}

absl::StatusOr<v1::CalibrateResponse> ServerCalls::Ask(const v1::CalibrateRequest& request) {
  return stubs_->Call(stubs_->accounting, &v1::AccountingService::Stub::Calibrate, request);
}

absl::StatusOr<v1::ComputeTuningCostResponse> ServerCalls::Ask(
    const v1::ComputeTuningCostRequest& request) {
  return stubs_->Call(stubs_->accounting, &v1::AccountingService::Stub::ComputeTuningCost, request);
}

absl::StatusOr<v1::ComputeProfileResponse> ServerCalls::Ask(
    const v1::ComputeProfileRequest& request) {
  return stubs_->Call(stubs_->accounting, &v1::AccountingService::Stub::ComputeProfile, request);
}

absl::StatusOr<v1::AuditClaimResponse> ServerCalls::Ask(const v1::AuditClaimRequest& request) {
  return stubs_->Call(stubs_->accounting, &v1::AccountingService::Stub::AuditClaim, request);
}

absl::StatusOr<v1::Statement> ServerCalls::Ask(const v1::GetStatementRequest& request) {
  return stubs_->Call(stubs_->statements, &v1::StatementService::Stub::GetStatement, request);
}

absl::StatusOr<v1::Operation> ServerCalls::Begin(const v1::StartRecomputeRequest& request) {
  return stubs_->Call(stubs_->recompute, &v1::RecomputeService::Stub::StartRecompute, request);
}

absl::StatusOr<v1::Operation> ServerCalls::Get(const v1::GetOperationRequest& request) {
  return stubs_->Call(stubs_->recompute, &v1::RecomputeService::Stub::GetOperation, request);
}

absl::StatusOr<v1::Operation> ServerCalls::Cancel(const v1::CancelOperationRequest& request) {
  return stubs_->Call(stubs_->recompute, &v1::RecomputeService::Stub::CancelOperation, request);
}

absl::StatusOr<v1::ListOperationsResponse> ServerCalls::List(
    const v1::ListOperationsRequest& request) {
  return stubs_->Call(stubs_->recompute, &v1::RecomputeService::Stub::ListOperations, request);
}

absl::StatusOr<v1::ListRecomputedResponse> ServerCalls::List(
    const v1::ListRecomputedRequest& request) {
  return stubs_->Call(stubs_->recompute, &v1::RecomputeService::Stub::ListRecomputed, request);
}

absl::StatusOr<v1::Ledger> ServerCalls::Create(const v1::CreateLedgerRequest& request) {
  return stubs_->Call(stubs_->ledgers, &v1::LedgerService::Stub::CreateLedger, request);
}

absl::StatusOr<v1::Ledger> ServerCalls::Get(const std::string& name,
                                            const std::string& first_writer) {
  v1::GetLedgerRequest request;
  request.set_name(name);
  request.set_first_writer(first_writer);
  return stubs_->Call(stubs_->ledgers, &v1::LedgerService::Stub::GetLedger, request);
}

absl::StatusOr<v1::ListLedgersResponse> ServerCalls::List(const v1::ListLedgersRequest& request) {
  return stubs_->Call(stubs_->ledgers, &v1::LedgerService::Stub::ListLedgers, request);
}

absl::StatusOr<v1::ListDatasetsResponse> ServerCalls::List(const v1::ListDatasetsRequest& request) {
  return stubs_->Call(stubs_->ledgers, &v1::LedgerService::Stub::ListDatasets, request);
}

absl::StatusOr<v1::Receipt> ServerCalls::Append(const v1::AppendBatchRequest& request) {
  v1::AppendBatchRequest sent = request;
  const merkle::Hash hash = log_keys_.empty() ? merkle::Hash{} : log_keys_.AskFor(sent);
  ASSIGN_OR_RETURN(v1::AppendBatchResponse response,
                   stubs_->Call(stubs_->ledgers, &v1::LedgerService::Stub::AppendBatch, sent));
  RETURN_IF_ERROR(log_keys_.Check(hash, response.receipt()));
  return response.receipt();
}

absl::StatusOr<v1::ReadEntriesResponse> ServerCalls::Read(const v1::ReadEntriesRequest& request) {
  return stubs_->Call(stubs_->ledgers, &v1::LedgerService::Stub::ReadEntries, request);
}

absl::StatusOr<v1::Ledger> ServerCalls::Seal(const v1::SealLedgerRequest& request) {
  return stubs_->Call(stubs_->ledgers, &v1::LedgerService::Stub::SealLedger, request);
}

absl::StatusOr<v1::Ledger> ServerCalls::Fork(const v1::ForkLedgerRequest& request) {
  return stubs_->Call(stubs_->ledgers, &v1::LedgerService::Stub::ForkLedger, request);
}

absl::StatusOr<v1::GetCheckpointResponse> ServerCalls::Ask(
    const v1::GetCheckpointRequest& request) {
  return stubs_->Call(stubs_->audit, &v1::AuditService::Stub::GetCheckpoint, request);
}

absl::StatusOr<v1::GetInclusionProofResponse> ServerCalls::Ask(
    const v1::GetInclusionProofRequest& request) {
  return stubs_->Call(stubs_->audit, &v1::AuditService::Stub::GetInclusionProof, request);
}

absl::StatusOr<v1::GetTileResponse> ServerCalls::Ask(const v1::GetTileRequest& request) {
  return stubs_->Call(stubs_->audit, &v1::AuditService::Stub::GetTile, request);
}

absl::StatusOr<v1::ListRegistrationsResponse> ServerCalls::Ask(
    const v1::ListRegistrationsRequest& request) {
  return stubs_->Call(stubs_->audit, &v1::AuditService::Stub::ListRegistrations, request);
}

absl::StatusOr<v1::CreateTokenResponse> ServerCalls::Create(const v1::CreateTokenRequest& request) {
  return stubs_->Call(stubs_->admin, &v1::AdminService::Stub::CreateToken, request);
}

absl::StatusOr<v1::ListTokensResponse> ServerCalls::List(const v1::ListTokensRequest& request) {
  return stubs_->Call(stubs_->admin, &v1::AdminService::Stub::ListTokens, request);
}

absl::StatusOr<v1::RotateTokenResponse> ServerCalls::Rotate(const v1::RotateTokenRequest& request) {
  return stubs_->Call(stubs_->admin, &v1::AdminService::Stub::RotateToken, request);
}

absl::StatusOr<v1::RevokeTokenResponse> ServerCalls::Revoke(const v1::RevokeTokenRequest& request) {
  return stubs_->Call(stubs_->admin, &v1::AdminService::Stub::RevokeToken, request);
}

absl::StatusOr<v1::ListAccessResponse> ServerCalls::List(const v1::ListAccessRequest& request) {
  return stubs_->Call(stubs_->admin, &v1::AdminService::Stub::ListAccess, request);
}

}  // namespace dpledger::cli
