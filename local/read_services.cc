#include "local/read_services.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "server/desk/desk.h"
#include "server/grpc_door/grpc_door.h"
#include "server/log.h"
#include "server/own_ledgers/own_ledgers.h"
#include "server/questions/accounting_service.h"
#include "server/questions/signed_root.h"
#include "server/services/audit_service.h"
#include "server/services/ledger_service.h"
#include "server/statement/statement_service.h"
#include "server/summaries/dataset_totals.h"
#include "server/summaries/ledger_finder.h"
#include "server/summaries/ledger_index.h"
#include "server/summaries/ledger_tail.h"
#include "server/summaries/listing_service.h"
#include "server/summaries/summarise.h"

namespace dpledger::local {
namespace {

// Whoever asks waits for the answer himself, and can end the process.
constexpr absl::Duration kQueryTimeout = absl::Minutes(5);

// Bundles without a registry may be of several servers.
server::AccountingLimits LimitsOf(const ReadFrom& from) {
  server::AccountingLimits limits;
  limits.of_one_server = from.notary != nullptr;
  limits.query_timeout = kQueryTimeout;
  return limits;
}

// Lets everybody read, and nobody write.
class ReadersOnly : public server::Authorizer {
 public:
  absl::Status Decide(const server::Caller&, server::Permission permission,
                      const server::Resource& resource) override {
    switch (permission) {
      case server::Permission::kReadEntries:
      case server::Permission::kAsk:
      case server::Permission::kExport:
      case server::Permission::kVerify:
      case server::Permission::kList:
        return absl::OkStatus();
      default:
        return WithReason(absl::FailedPreconditionError(absl::StrCat(
                              resource.name,
                              ": is open to be read, and nothing can be added to it; a recorder "
                              "or a server that has it open can")),
                          {"READ_ONLY", {}});
    }
  }
};

struct Parts : ReadServices {
  explicit Parts(const ReadFrom& from)
      : ledgers(from.store, from.logs),
        accounting(from.store, LimitsOf(from), server::SignedRootOf(from.store, from.logs)),
        tail(from.store, &index, &log),
        totals(LimitsOf(from).usual_delta,
               [this](const std::vector<std::string>& names, double delta,
                      std::function<bool()> cancelled) {
                 server::CallContext call;
                 call.cancelled = std::move(cancelled);
                 return accounting.EpsilonTogether(names, delta, call);
               }),
        lists(&tail, &index, &totals, /*notes=*/nullptr,
              [](const auto&, const auto&) { return true; }),
        finder(&tail, &index),
        statements(from.store, from.logs, &accounting, &finder) {
    if (from.notary != nullptr) {
      audit = std::make_unique<server::AuditService>(from.store, from.notary, from.logs);
    }
    accounting.Know([this](const std::string& dataset,
                           absl::Time deadline) { return finder.Over(dataset, deadline); },
                    [](const server::Caller&, const std::string& ledger) {
                      return !server::IsOfServer(ledger);
                    },
                    nullptr, nullptr,
                    {.overspent = [this](const std::string& budget) { return Overspent(budget); },
                     .spending = [this](const std::string& run) { return SpendingOf(run); }});
  }

  // What a run under a budget has spent. No server keeps it at hand: it is asked about.
  std::optional<v1::FilterSpending> SpendingOf(const std::string& run) {
    // The question about a run asks what its budget's runs have spent: that is answered by nothing.
    static thread_local bool is_asked = false;
    const std::shared_ptr<const server::LedgerRow> row = index.Find(run);
    if (is_asked || row == nullptr) return std::nullopt;
    is_asked = true;
    const double delta = server::AccountingLimits().usual_delta;
    const v1::LedgerSummary summary = server::SummaryOf(
        row->Described(), delta, accounting.ComputeEpsilon(server::SummaryQuestion(run, delta), {}),
        absl::Now());
    is_asked = false;
    if (!summary.has_spending()) return std::nullopt;
    return summary.spending();
  }
  std::vector<v1::FilterSpending> Overspent(const std::string& budget) {
    std::vector<v1::FilterSpending> overspent;
    for (const auto& row : index.Of("projects/-")) {
      if (row->declaration().budget() != budget || row->head->first->has_import()) continue;
      const std::optional<v1::FilterSpending> spending = SpendingOf(row->name());
      if (spending.has_value() && spending->crossed()) overspent.push_back(*spending);
    }
    return overspent;
  }

  // From the outside in, as a server stops.
  ~Parts() override {
    served.reset();
    if (desk != nullptr) desk->Close(absl::Now());
    if (door != nullptr) door->Close();
    totals.Stop();
    tail.Stop();
  }

  const std::shared_ptr<grpc::Channel>& channel() const override { return served; }

  // The summaries of all ledgers, or none.
  absl::Status Summarise(LedgerStore& store, bool wanted) {
    if (!wanted) return absl::OkStatus();
    const double delta = server::AccountingLimits().usual_delta;
    for (const auto& row : index.Of("projects/-")) {
      if (server::IsOfServer(row->name())) continue;
      const auto question = server::SummaryQuestion(row->name(), delta);
      ASSIGN_OR_RETURN(
          v1::LedgerSummary summary,
          server::Summarise(store, row->Described(), delta, accounting.ComputeEpsilon(question, {}),
                            nullptr, absl::Now()));
      index.PutSummary(std::make_shared<const v1::LedgerSummary>(std::move(summary)));
    }
    return absl::OkStatus();
  }

  const server::Log log{server::LogLevel::kError, STDERR_FILENO};
  ReadersOnly authorizer;
  server::LedgerService ledgers;
  server::AccountingService accounting;
  std::unique_ptr<server::AuditService> audit;
  server::LedgerIndex index;
  server::LedgerTail tail;
  server::DatasetTotals totals;
  server::ListingService lists;
  server::LedgerFinder finder;
  server::StatementService statements;
  std::unique_ptr<server::Desk> desk;
  std::unique_ptr<server::GrpcDoor> door;
  std::shared_ptr<grpc::Channel> served;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ReadServices>> ReadServices::Open(const ReadFrom& from) {
  auto services = std::make_unique<Parts>(from);
  Parts& p = *services;
  p.tail.Start([&p, from] { return p.Summarise(*from.store, from.summaries); },
               [](const std::vector<std::string>&) {});
  p.desk = std::make_unique<server::Desk>(server::DeskOptions(),
                                          server::Services{.ledgers = &p.ledgers,
                                                           .accounting = &p.accounting,
                                                           .audit = p.audit.get(),
                                                           .lists = &p.lists,
                                                           .statements = &p.statements},
                                          /*identifier=*/nullptr, &p.authorizer, &p.log);
  p.desk->health().SetServing(true);
  ASSIGN_OR_RETURN(p.door, server::GrpcDoor::Open(server::GrpcDoorOptions(), p.desk.get()));
  p.served = p.door->InProcess();
  return services;
}

}  // namespace dpledger::local
