// The StatementService, without a transport: proto/dpledger/v1/statement_service.proto says what
// each call means. server/statement/ says what is in a statement; this gathers it.
//
// Every ledger in a statement is bound to a signed checkpoint: the entries that were accounted for
// have the root that the checkpoint proves. Time is bounded as in AccountingService. Thread safe.
// Calls compute in the calling thread, and may wait for a signature.
#pragma once

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "dpledger/v1/statement_service.pb.h"
#include "ledger_store/store.h"
#include "server/call_context.h"
#include "server/questions/accounting_service.h"
#include "server/signing/signed_logs.h"
#include "server/statement/facts.h"
#include "server/statement/register.h"
#include "server/summaries/ledger_finder.h"

namespace dpledger::server {

class StatementService {
 public:
  // All must outlive the service.
  StatementService(LedgerStore* store, SignedLogs* logs, AccountingService* accounting,
                   LedgerFinder* finder, Clock* clock = Clock::System())
      : store_(*store),
        logs_(*logs),
        accounting_(*accounting),
        finder_(*finder),
        clock_(*clock),
        register_(store, logs) {}

  absl::StatusOr<v1::Statement> GetStatement(const v1::GetStatementRequest& request,
                                             const CallContext& call);
  absl::StatusOr<v1::Statement> IssueStatement(const v1::IssueStatementRequest& request,
                                               const CallContext& call);
  absl::StatusOr<v1::FindStatementResponse> FindStatement(const v1::FindStatementRequest& request,
                                                          const CallContext& call) {
    return register_.Find(request, call);
  }
  absl::StatusOr<v1::ListStatementsResponse> ListStatements(
      const v1::ListStatementsRequest& request, const CallContext& call) {
    return register_.List(request, call);
  }
  absl::StatusOr<v1::IssuedStatement> WithdrawStatement(const v1::WithdrawStatementRequest& request,
                                                        const CallContext& call) {
    return register_.Withdraw(request, clock_.Now(), call);
  }

 private:
  // All that the statement says, bound to checkpoints.
  absl::StatusOr<statement::Facts> Gather(const v1::GetStatementRequest& request,
                                          const CallContext& call);
  // The ledgers that the request is about, with all their writers.
  absl::Status Find(const v1::GetStatementRequest& request, absl::Time deadline,
                    const CallContext& call, statement::Facts& facts);
  // The answer, the profile, and what each ledger holds.
  absl::Status Account(const v1::GetStatementRequest& request, const accountant::Limits& limits,
                       const MayCount& may_count, statement::Facts& facts);
  absl::Status Bind(uint64_t up_to_sequence, const CallContext& call, statement::Facts& facts);

  LedgerStore& store_;
  SignedLogs& logs_;
  AccountingService& accounting_;
  LedgerFinder& finder_;
  Clock& clock_;
  StatementRegister register_;
};

}  // namespace dpledger::server
