// The commands' client of one server, or of the services over ledgers at rest. Each call has a
// deadline. If the server cannot be reached, a call is UNAVAILABLE, with the server's address in
// the message.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "cli/ledger_place.h"
#include "connection/log_keys.h"
#include "connection/server_access.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/admin_service.pb.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "dpledger/v1/recompute_service.pb.h"
#include "dpledger/v1/statement_service.pb.h"

namespace dpledger::cli {

// What each call answers with: declared, and not defined.
v1::ComputeEpsilonResponse AnswerTo(const v1::ComputeEpsilonRequest&);
v1::ComputeDeltaResponse AnswerTo(const v1::ComputeDeltaRequest&);
v1::ComputeTuningCostResponse AnswerTo(const v1::ComputeTuningCostRequest&);
v1::ComputeProfileResponse AnswerTo(const v1::ComputeProfileRequest&);
v1::CalibrateResponse AnswerTo(const v1::CalibrateRequest&);
v1::AuditClaimResponse AnswerTo(const v1::AuditClaimRequest&);
v1::ComputeBudgetResponse AnswerTo(const v1::ComputeBudgetRequest&);
v1::GrantBudgetResponse AnswerTo(const v1::GrantBudgetRequest&);
v1::Statement AnswerTo(const v1::GetStatementRequest&);
v1::Statement AnswerTo(const v1::IssueStatementRequest&);
v1::FindStatementResponse AnswerTo(const v1::FindStatementRequest&);
v1::ListStatementsResponse AnswerTo(const v1::ListStatementsRequest&);
v1::IssuedStatement AnswerTo(const v1::WithdrawStatementRequest&);
v1::Operation AnswerTo(const v1::StartRecomputeRequest&);
v1::Operation AnswerTo(const v1::GetOperationRequest&);
v1::Operation AnswerTo(const v1::CancelOperationRequest&);
v1::ListOperationsResponse AnswerTo(const v1::ListOperationsRequest&);
v1::ListRecomputedResponse AnswerTo(const v1::ListRecomputedRequest&);
v1::ListAnswersResponse AnswerTo(const v1::ListAnswersRequest&);
v1::Ledger AnswerTo(const v1::CreateLedgerRequest&);
v1::ListLedgersResponse AnswerTo(const v1::ListLedgersRequest&);
v1::ListDatasetsResponse AnswerTo(const v1::ListDatasetsRequest&);
v1::ListAttentionResponse AnswerTo(const v1::ListAttentionRequest&);
v1::AttentionItem AnswerTo(const v1::NoteAttentionRequest&);
v1::ReadEntriesResponse AnswerTo(const v1::ReadEntriesRequest&);
v1::Ledger AnswerTo(const v1::SealLedgerRequest&);
v1::Ledger AnswerTo(const v1::ForkLedgerRequest&);
v1::CreateTokenResponse AnswerTo(const v1::CreateTokenRequest&);
v1::ListTokensResponse AnswerTo(const v1::ListTokensRequest&);
v1::RotateTokenResponse AnswerTo(const v1::RotateTokenRequest&);
v1::RevokeTokenResponse AnswerTo(const v1::RevokeTokenRequest&);
v1::ListAccessResponse AnswerTo(const v1::ListAccessRequest&);
v1::AppendBatchResponse AnswerTo(const v1::AppendBatchRequest&);
v1::Ledger AnswerTo(const v1::GetLedgerRequest&);

class ServerCalls {
 public:
  // The first call connects. If `server` cannot be dialled at all (client::Connect), every call
  // says why.
  explicit ServerCalls(const connection::ServerAccess& server);
  // The same, or OpenToWrite.
  explicit ServerCalls(const WritePlace& place);
  // `costs`: OpenAtRest. If the ledgers cannot be opened, every call says why.
  explicit ServerCalls(const LedgerPlace& place, bool costs = false);

  // The ledgers at rest. Their error if they cannot be opened. Precondition: they are at rest.
  absl::StatusOr<local::Reading> place() const { return place_; }
  // `name`, or the only ledger at rest if it is empty. INVALID_ARGUMENT naming `flag` and all of
  // them if there are several.
  absl::StatusOr<std::string> NameOr(const std::string& name, const std::string& flag) const;
  // Adds to an answer what could not be checked of ledgers at rest.
  void Assume(v1::AnswerDetails& details) const;

  // Makes the call that takes this request.
  template <typename Request>
  absl::StatusOr<decltype(AnswerTo(std::declval<Request>()))> Ask(const Request& request) {
    decltype(AnswerTo(request)) answer;
    const absl::Status status = (*this)(request, answer);
    if (!status.ok()) return status;
    return answer;
  }
  // All pages of a list as one answer.
  template <typename Request>
  absl::StatusOr<decltype(AnswerTo(std::declval<Request>()))> AskAll(Request request) {
    decltype(AnswerTo(request)) all;
    request.set_page_size(1000);
    do {
      const auto page = Ask(request);
      if (!page.ok()) return page.status();
      if constexpr (requires { all.clear_damaged(); }) all.clear_damaged();  // each page has all
      all.MergeFrom(*page);
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    all.clear_next_page_token();
    return all;
  }
  // Checks the receipt's signature, if the log's key is known.
  absl::StatusOr<v1::Receipt> Append(const v1::AppendBatchRequest& request);
  // Calls `take` with each answer until it gives an error, which is returned, or the stream ends.
  absl::Status Watch(const v1::WatchLedgersRequest& request,
                     const std::function<absl::Status(const v1::WatchLedgersResponse&)>& take);

  absl::StatusOr<v1::Ledger> Get(const std::string& name, const std::string& first_writer = "");

  // Makes the call that takes this request (bundle::ServedLedgers). Waits up to a second for the
  // connection: the server may be just starting. Tries again while a filter's gate is not ready.
  absl::Status operator()(const google::protobuf::Message& request,
                          google::protobuf::Message& answer) const;

 private:
  absl::Status CallOnce(const google::protobuf::Message& request,
                        google::protobuf::Message& answer) const;
  // The same error, with the server's address if nobody answers there.
  absl::Status WithAddress(const absl::Status& status) const;

  ServerCalls(std::string address, absl::StatusOr<local::Reading> place,
              absl::StatusOr<std::shared_ptr<grpc::Channel>> channel);

  static ServerCalls AtRest(const LedgerPlace& place, bool costs);

  const absl::StatusOr<local::Reading> place_;
  connection::LogKeys log_keys_;
  std::string address_;  // empty: at rest
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel_;
};

}  // namespace dpledger::cli
