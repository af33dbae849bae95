// A store with a budget and runs under it, by the functions that the server calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "accountant/mechanism/composition.h"
#include "events/event_values.h"
#include "events/grant_rules.h"
#include "questions/answer_budget.h"
#include "questions/declaration_values.h"
#include "server/questions/filter_gate.h"
#include "tests/server/accounted_store.h"

namespace dpledger::server {

class BudgetTest : public ::testing::Test {
 protected:
  static constexpr char kMixture[] =
      "mixture { epsilon: 4 delta: 1e-6 orders: 2 orders: 4 orders: 8 orders: 16 orders: 32 }";
  static constexpr char kRho[] = "zcdp { rho: 1 }";

  static v1::Event Rounds(uint64_t count, double z = 1.1, double clip = 1) {
    v1::Event event = RoundsEvent(count);
    event.mutable_rounds()->mutable_queries(0)->set_l2_norm_bound(clip);
    event.mutable_rounds()->mutable_queries(0)->set_noise_stddev(clip * z);
    return event;
  }
  static v1::Event Gaussian(double z) {
    v1::Event event;
    event.mutable_mechanism()->mutable_gaussian()->set_noise_multiplier(z);
    return event;
  }

  BudgetTest() { Open(); }
  ~BudgetTest() override { gate_->Stop(); }
  void Open() {
    gate_ = std::make_unique<FilterGate>();
    gate_->Start(&rig_.source());
    rig_.store().Guard(gate_.get());
  }
  void Restart() {
    gate_->Stop();
    rig_.store().Guard(nullptr);
    rig_.Reopen();
    Open();
  }

  void CreateBudget(const std::string& filter, const std::string& assignment = "") {
    rig_.Create("budget", [&](v1::Declaration& declaration) {
      declaration.set_block_assignment(assignment);
      declaration.set_kind(v1::BUDGET);
      declaration.set_parameters(v1::ADAPTIVE);
      *declaration.mutable_filter() = accountant::FromText<v1::Filter>(filter);
    });
  }
  static std::function<void(v1::Declaration&)> UnderBudget(v1::Parameters parameters) {
    return [=](v1::Declaration& declaration) {
      declaration.set_parameters(parameters);
      declaration.set_budget(LedgerName("budget"));
    };
  }
  void CreateRun(const std::string& id, v1::Parameters parameters = v1::ADAPTIVE) {
    rig_.Create(id, UnderBudget(parameters));
  }

  void CreateRunOn(const std::string& id, const std::string& blocks) {
    rig_.Create(id, [&](v1::Declaration& declaration) {
      UnderBudget(v1::ADAPTIVE)(declaration);
      *declaration.mutable_blocks() = *events::BlocksFromText(blocks);
    });
  }

  template <typename Call>
  static absl::Status UntilReady(const Call& call) {
    while (true) {
      const absl::Status status = call();
      if (ReasonOf(status).reason != kFilterNotReady) return status;
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  v1::GrantBudgetRequest GrantOf(const std::string& run, const std::vector<v1::Event>& plan) {
    v1::GrantBudgetRequest request;
    request.set_budget(LedgerName("budget"));
    request.set_ledger(LedgerName(run));
    request.set_request_id(absl::StrCat("grant", ++requests_));
    request.mutable_plan()->Assign(plan.begin(), plan.end());
    return request;
  }
  absl::Status Grant(const v1::GrantBudgetRequest& request) {
    return UntilReady([&] { return rig_.store().Grant(request, "").status(); });
  }
  absl::Status Grant(const std::string& run, const std::vector<v1::Event>& plan) {
    return Grant(GrantOf(run, plan));
  }
  absl::Status Append(const std::string& run, const std::vector<v1::Event>& events,
                      const std::string& writer = "w") {
    v1::AppendBatchRequest batch =
        Batch(LedgerName(run), writer, absl::StrCat("request", ++requests_));
    for (const v1::Event& event : events) *batch.add_entries()->mutable_event() = event;
    return UntilReady([&] { return rig_.store().Append(batch).status(); });
  }
  v1::AppendBatchRequest RetireRequest(const std::string& blocks) {
    v1::AppendBatchRequest batch =
        Batch(LedgerName("budget"), "admin", absl::StrCat("request", ++requests_));
    *batch.add_entries()->mutable_retired_blocks()->mutable_blocks() =
        *events::BlocksFromText(blocks);
    return batch;
  }
  absl::Status Retire(const std::string& blocks) {
    return rig_.store().Append(RetireRequest(blocks)).status();
  }
  v1::ComputeBudgetResponse Ask(const std::vector<v1::Event>& plan = {},
                                const std::string& run = "") {
    const auto lineage = rig_.source().ReadLineage(LedgerName("budget"), {});
    v1::ComputeBudgetRequest request;
    request.set_budget(LedgerName("budget"));
    request.mutable_plan()->Assign(plan.begin(), plan.end());
    if (!run.empty()) request.set_ledger(LedgerName(run));
    return AccountedStore::Must(questions::AnswerBudget(lineage.value()[0].part(), request, {}));
  }
  uint64_t SizeOf(const std::string& id) { return rig_.store().Get(LedgerName(id))->size(); }
  static void ExpectExceeded(const absl::Status& status, const std::string& left) {
    EXPECT_TRUE(
        IsError(status, absl::StatusCode::kFailedPrecondition, "BUDGET_EXCEEDED", "granted"));
    EXPECT_EQ(ReasonOf(status).metadata["rounds_left"], left) << status;
  }
  // By the accountant, of all of it at once.
  static double SpentBy(const std::string& filter, const std::vector<v1::Event>& events) {
    accountant::History history;
    for (const v1::Event& event : events) history.Add("w", *events::ValueOf(event));
    return *accountant::filter::Spent(
        *questions::FilterFromProto(accountant::FromText<v1::Filter>(filter)),
        *accountant::Resolve(history, accountant::Adjacency::kAddOrRemoveOne), {});
  }

  std::unique_ptr<FilterGate> gate_;
  AccountedStore rig_;
  int requests_ = 0;
};

}  // namespace dpledger::server
