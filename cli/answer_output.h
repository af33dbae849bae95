// Answers as text for people, made from the wire's messages: an answer looks the same whether this
// program or a server computed it, and says what its JSON says (tests/cli/fields_test.cc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/admin_service.pb.h"
#include "dpledger/v1/budget_check.pb.h"
#include "dpledger/v1/command.pb.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "dpledger/v1/recompute_service.pb.h"
#include "dpledger/v1/statement_service.pb.h"

namespace dpledger::cli {

// Questions.
std::string ToText(const v1::ComputeEpsilonResponse& answer);
std::string ToText(const v1::ComputeDeltaResponse& answer);
std::string ToText(const v1::CalibrateResponse& answer);
std::string ToText(const v1::CalibrationGrid& grid);
std::string ToText(const v1::ComputeTuningCostResponse& answer);
std::string ToText(const v1::AuditClaimResponse& answer);

// Which list a profile's question gave; the answer's points are the other number.
enum class Asked { kEpsilons, kDeltas };
std::string ToText(const v1::ComputeProfileResponse& answer, Asked asked);
// A header, then a line of exact numbers for each point.
std::string PointsCsv(const v1::ComputeProfileResponse& answer, Asked asked);
std::string TradeOffCsv(const v1::ComputeProfileResponse& answer);

// Ledgers.
std::string ToText(const v1::Ledger& ledger);
std::string ToText(const v1::ListLedgersResponse& list);
std::string ToText(const v1::ListDatasetsResponse& list);
std::string ToText(const v1::AttentionItem& item);
std::string ToText(const v1::ListAttentionResponse& list);
// The ledger as one line of a list, without its end.
std::string ToLine(const v1::Ledger& ledger, const v1::LedgerSummary& summary);
std::string ToText(const v1::Appended& appended);
std::string ToText(const v1::LedgerExported& exported);
// What a verified ledger's message leaves out.
struct VerifiedFrom {
  int64_t registered_seconds = 0;
  std::vector<std::string> parents;  // of a fork: each with what of it was verified
};
std::string ToText(const v1::LedgerVerified& message, const VerifiedFrom& from);
std::string ToText(const v1::SpoolsImported& imported);
std::string ToText(const v1::RegistryFollowed& followed);
std::string ToText(const v1::ContradictionProved& proved);
std::string ToText(const v1::FileWritten& written);

// Statements.
std::string ToText(const v1::IssuedStatement& statement);
std::string ToText(const v1::ListStatementsResponse& list);
std::string ToText(const v1::StatementChecked& checked);

// Budgets.
std::string ToText(const v1::ComputeBudgetResponse& answer);
// What it says of the question's plan.
std::string FitText(const v1::ComputeBudgetResponse& answer);
// Why a plan does not fit, if it is not for what is left.
std::string WhyNot(const v1::ComputeBudgetResponse& answer);
std::string PlanText(const v1::BudgetGrant& grant);
std::string ToText(const v1::BudgetVerified& verified);

// Operations and administration.
std::string ToText(const v1::Operation& operation);
std::string ToText(const v1::ListOperationsResponse& list);
std::string ToText(const v1::RecomputeResults& results);
std::string ToText(const v1::ListAnswersResponse& list);
std::string ToText(const v1::TokenMade& made);
std::string ToText(const v1::ListTokensResponse& list);
std::string ToText(const v1::RevokeTokenResponse& revoked);
std::string ToText(const v1::AccessRead& read);

}  // namespace dpledger::cli
