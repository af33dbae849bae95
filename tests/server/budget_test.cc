// Budgets: what runs over one data set are granted fits into the bound together, and no run costs
// more than it was granted.
#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "events/declaration_rules.h"
#include "events/event_values.h"
#include "events/grant_rules.h"
#include "server/services/grants.h"
#include "tests/server/budgeted_store.h"

namespace dpledger::server {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

TEST_F(BudgetTest, GrantsWhatFitsTogetherAndRefusesTheRestInBothLedgers) {
  CreateBudget(kMixture);
  for (const char* run : {"a", "b", "c"}) CreateRun(run);
  ASSERT_TRUE(Grant("a", {Rounds(1000)}).ok());
  ASSERT_TRUE(Grant("b", {Rounds(500, 2), Gaussian(20)}).ok());
  const double both = SpentBy(kMixture, {Rounds(1000), Rounds(500, 2), Gaussian(20)});
  EXPECT_NEAR(Ask().spending().spent() / both, 1, 1e-11);
  EXPECT_GE(Ask().spending().spent(), both);

  uint64_t fits = 1;
  const auto total = [&](uint64_t rounds) {
    return SpentBy(kMixture, {Rounds(1000), Rounds(500, 2), Gaussian(20), Rounds(rounds, 0.9)});
  };
  while (total(2 * fits) <= 4) fits *= 2;
  for (uint64_t step = fits / 2; step > 0; step /= 2) fits += total(fits + step) <= 4 ? step : 0;
  const v1::ComputeBudgetResponse asked = Ask({Rounds(fits + 1, 0.9)}, "c");
  EXPECT_FALSE(asked.fits());
  EXPECT_EQ(asked.rounds_left(), fits);
  EXPECT_GT(asked.spent_with_plan(), 4);
  EXPECT_EQ(asked.grant_count(), 2u);
  EXPECT_TRUE(Ask({Rounds(fits, 0.9)}, "c").fits());

  const uint64_t of_budget = SizeOf("budget"), of_run = SizeOf("c");
  ExpectExceeded(Grant("c", {Rounds(fits + 1, 0.9)}), absl::StrCat(fits));
  EXPECT_EQ(SizeOf("budget"), of_budget);
  EXPECT_EQ(SizeOf("c"), of_run);
  EXPECT_TRUE(Grant("c", {Rounds(fits, 0.9)}).ok());
  EXPECT_EQ(SizeOf("budget"), of_budget + 1);
  EXPECT_EQ(SizeOf("c"), of_run + 1);
  Restart();
  // What it has already counts once.
  EXPECT_EQ(ReasonOf(Grant("a", {Rounds(1100)})).reason, "BUDGET_EXCEEDED");
  EXPECT_TRUE(Grant("a", {Rounds(1000)}).ok());
}

TEST_F(BudgetTest, RunCostsNoMoreThanItWasGranted) {
  CreateBudget(kMixture);
  CreateRun("a", v1::FIXED);
  ExpectExceeded(Append("a", {Rounds(1)}), "0");  // nothing was granted
  ASSERT_TRUE(Grant("a", {Rounds(100)}).ok());
  // Noise in other units, whose multiplier is 1.1 but for its last bit, is the plan's all the same.
  for (int i = 0; i < 90; ++i) ASSERT_TRUE(Append("a", {Rounds(1, 1.1, 0.7)}).ok()) << i;
  ExpectExceeded(Append("a", {Rounds(11)}), "10");
  ExpectExceeded(Append("a", {Gaussian(3)}), "0");
  EXPECT_TRUE(Append("a", {Rounds(10, 1.1, 0.3)}).ok());
  ExpectExceeded(Append("a", {Rounds(1)}), "0");
  Restart();
  ExpectExceeded(Append("a", {Rounds(1)}), "0");
  ASSERT_TRUE(Grant("a", {Rounds(101)}).ok());
  EXPECT_TRUE(Append("a", {Rounds(1)}).ok());
  ExpectExceeded(Append("a", {Rounds(1)}), "0");
}

TEST_F(BudgetTest, SmallerPlanGivesBackWhatIsNotSpent) {
  CreateBudget(kRho);
  CreateRun("a");
  CreateRun("b");
  ASSERT_TRUE(Grant("a", {Gaussian(1), Gaussian(1)}).ok());  // all of it
  ASSERT_TRUE(Append("a", {Gaussian(2)}).ok());
  ExpectExceeded(Grant("b", {Gaussian(2)}), "");
  const uint64_t of_budget = SizeOf("budget");
  EXPECT_TRUE(IsError(Grant("a", {Gaussian(3)}), StatusCode::kFailedPrecondition,
                      "GRANT_BELOW_SPENT", "has spent 0.125"));
  EXPECT_TRUE(IsError(Grant("a", {}), StatusCode::kFailedPrecondition, "GRANT_BELOW_SPENT", ""));
  EXPECT_EQ(SizeOf("budget"), of_budget);
  EXPECT_NEAR(Ask().spending().spent(), 1, 1e-9);  // the budget did not keep what was refused
  ASSERT_TRUE(Grant("a", {Gaussian(2)}).ok());
  EXPECT_NEAR(Ask().spending().spent(), 0.125, 1e-9);
  EXPECT_TRUE(Grant("b", {Gaussian(1)}).ok());
  EXPECT_TRUE(Grant("b", {}).ok());
  EXPECT_EQ(Ask().grant_count(), 1u);
}

// Each block by itself: beside all that was granted of it, by enumeration.
TEST_F(BudgetTest, GrantsMoreAndInTheEndWhatIsSpent) {
  CreateBudget(kMixture);
  CreateRun("run");
  const auto change = [&](v1::GrantChange how, const std::vector<v1::Event>& plan) {
    v1::GrantBudgetRequest request = GrantOf("run", plan);
    request.set_change(how);
    return UntilReady(
        [&] { return Grants(&rig_.store(), &rig_.source()).Make(request, "", {}).status(); });
  };
  const auto granted = [&] { return Ask({}, "run").present_grant().plan(); };
  ASSERT_EQ(change(v1::GRANT_MORE, {Rounds(40)}), absl::OkStatus());
  ASSERT_EQ(change(v1::GRANT_MORE, {Gaussian(30), Rounds(60)}), absl::OkStatus());
  ASSERT_EQ(granted().size(), 2);
  EXPECT_EQ(granted()[1].rounds().count(), 100u);
  EXPECT_EQ(ReasonOf(change(v1::GRANT_MORE, {Rounds(1'000'000)})).reason, "BUDGET_EXCEEDED");
  EXPECT_EQ(granted()[1].rounds().count(), 100u);
  for (int i = 0; i < 9; ++i) ASSERT_EQ(Append("run", {Rounds(10)}), absl::OkStatus());
  EXPECT_TRUE(IsError(change(v1::GRANT_WHAT_IS_SPENT, {}), StatusCode::kFailedPrecondition,
                      "WRITERS_OPEN", "goes on"));
  v1::AppendBatchRequest closing = Batch(LedgerName("run"), "w", "closing");
  closing.add_entries()->mutable_writer_closed()->set_entry_count(10);
  ASSERT_TRUE(rig_.store().Append(closing).ok());
  EXPECT_TRUE(IsError(change(v1::GRANT_WHAT_IS_SPENT, {Rounds(90)}), StatusCode::kInvalidArgument,
                      "INVALID_FIELD", "plan: must be empty"));
  ASSERT_EQ(change(v1::GRANT_WHAT_IS_SPENT, {}), absl::OkStatus());
  ASSERT_EQ(granted().size(), 1);
  EXPECT_EQ(granted()[0].rounds().count(), 90u);
  EXPECT_TRUE(IsError(change(static_cast<v1::GrantChange>(7), {}), StatusCode::kInvalidArgument,
                      "INVALID_FIELD", "change: must be one of"));
}

TEST_F(BudgetTest, NothingThatIsAskedForBesideIsLostOrTakenTwice) {
  CreateBudget(kRho);
  CreateRun("run");
  Grants grants(&rig_.store(), &rig_.source());
  const auto more = [&](const std::string& id) {
    v1::Event round = Rounds(1, 100);
    round.mutable_rounds()->mutable_scheme()->mutable_full_batch();
    v1::GrantBudgetRequest request;
    request.set_budget(LedgerName("budget"));
    request.set_ledger(LedgerName("run"));
    request.set_request_id(id);
    request.set_change(v1::GRANT_MORE);
    *request.add_plan() = round;
    return UntilReady([&] { return grants.Make(request, "", {}).status(); });
  };
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&, i] {
      for (int j = 0; j < 10; ++j) EXPECT_EQ(more(absl::StrCat(i, ".", j)), absl::OkStatus());
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(more("0.0"), absl::OkStatus()) << "it was granted before";
  EXPECT_EQ(Ask({}, "run").present_grant().plan(0).rounds().count(), 80u);
}

// A plan counts an epoch of each noise, the ledger one of all.
TEST_F(BudgetTest, NothingIsGivenBackThatIsMore) {
  CreateBudget("rdp { order: 8 epsilon: 30 }");
  CreateRun("run");
  v1::Event epoch = Rounds(20, 4);
  epoch.mutable_rounds()->mutable_scheme()->mutable_random_allocation()->set_rounds_per_epoch(10);
  ASSERT_EQ(Grant("run", {epoch}), absl::OkStatus());
  v1::AppendBatchRequest batch = Batch(LedgerName("run"), "w", "mixed");
  for (uint64_t i = 0; i < 8; ++i) {
    v1::SamplingEvent& sampling = *batch.add_entries()->mutable_event()->mutable_sampling();
    sampling.set_round(i);
    *sampling.mutable_scheme() = epoch.rounds().scheme();
    v1::SumQueryEvent& sum = *batch.add_entries()->mutable_event()->mutable_sum_query();
    sum.set_round(i);
    *sum.mutable_query() = epoch.rounds().queries(0);
    sum.mutable_query()->set_noise_stddev(4 + static_cast<double>(i));
  }
  batch.add_entries()->mutable_writer_closed()->set_entry_count(17);
  ASSERT_EQ(UntilReady([&] { return rig_.store().Append(batch).status(); }), absl::OkStatus());
  v1::GrantBudgetRequest request = GrantOf("run", {});
  request.set_change(v1::GRANT_WHAT_IS_SPENT);
  EXPECT_TRUE(IsError(UntilReady([&] {
                        return Grants(&rig_.store(), &rig_.source()).Make(request, "", {}).status();
                      }),
                      StatusCode::kFailedPrecondition, "NOTHING_TO_GIVE_BACK", "comes to more"));
  EXPECT_EQ(Ask({}, "run").present_grant().plan(0).rounds().count(), 20u);
}

TEST_F(BudgetTest, EachBlockHasTheWholeBound) {
  CreateBudget(kRho, "the month of the first visit");
  CreateRunOn("spring", "1-6");
  CreateRunOn("summer", "4-9");
  CreateRunOn("autumn", "9-11,14");
  CreateRun("all");
  ASSERT_TRUE(Grant("spring", {Gaussian(1)}).ok());
  ASSERT_TRUE(Grant("autumn", {Gaussian(1), Gaussian(1)}).ok());  // all of blocks 9 to 11, and 14
  const absl::Status refused = Grant("summer", {Gaussian(1)});
  ExpectExceeded(refused, "");
  EXPECT_EQ(ReasonOf(refused).metadata["block"], "9");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is granted in block 9"));
  ExpectExceeded(Grant("all", {Gaussian(100)}), "");
  ASSERT_TRUE(Grant("autumn", {Gaussian(1)}).ok());
  ASSERT_TRUE(Grant("summer", {Gaussian(1)}).ok());
  EXPECT_EQ(ReasonOf(Grant("spring", {Gaussian(1), Gaussian(2)})).metadata["block"], "4");
  for (const bool restarted : {false, true}) {
    if (restarted) Restart();
    const v1::ComputeBudgetResponse answer = Ask({Gaussian(1)});
    EXPECT_NEAR(answer.spending().spent(), 1, 1e-9);
    EXPECT_FALSE(answer.fits());
    std::string levels;
    for (const v1::BlockSpending& one : answer.blocks()) {
      absl::StrAppend(&levels, one.blocks().first(), "-", one.blocks().last(), ": ",
                      std::round(one.spent() * 1e6) / 1e6, "; ");
    }
    EXPECT_EQ(levels, "1-3: 0.5; 4-6: 1; 7-8: 0.5; 9-9: 1; 10-11: 0.5; 14-14: 0.5; ");
    EXPECT_EQ(ReasonOf(Grant("all", {Gaussian(1)})).metadata["block"], "4");
    EXPECT_EQ(Ask({Gaussian(1)}, "summer").spent_with_plan(), answer.spending().spent());
    EXPECT_TRUE(Ask({Gaussian(1)}, "summer").fits());
    EXPECT_EQ(Ask({}, "summer").present_grant().blocks_size(), 1);
  }
  // A run in blocks is held as any other; what all release together is within one bound.
  ASSERT_TRUE(Append("summer", {Gaussian(1)}).ok());
  ExpectExceeded(Append("summer", {Gaussian(100)}), "0");
  ASSERT_TRUE(Append("autumn", {Gaussian(1)}).ok());
  EXPECT_EQ(rig_.Answer({"summer", "autumn"}).details().filter_spending_size(), 2);
  // All blocks' plans together are more than the bound; what any unit can lose is not.
  const v1::ComputeEpsilonResponse budget = rig_.Answer({"budget"});
  EXPECT_NEAR(budget.details().filter_spending(0).spent(), 1, 1e-9);
  EXPECT_THAT(budget.details().assumptions(), ::testing::Contains(HasSubstr("in one block")));
  // A fork is on its parent's blocks.
  rig_.Fork("autumn", SizeOf("autumn"), "child");
  ExpectExceeded(Grant("child", {Gaussian(1)}), "");
  EXPECT_TRUE(Grant("child", {}).ok());
}

TEST_F(BudgetTest, NothingMoreIsGrantedOfRetiredBlocks) {
  CreateBudget(kRho, "the month of the first visit");
  CreateRunOn("spring", "1-6");
  CreateRunOn("summer", "4-9");
  CreateRunOn("autumn", "9-11");
  CreateRun("all");
  ASSERT_TRUE(Grant("spring", {Gaussian(2)}).ok());
  ASSERT_TRUE(Retire("5-6").ok());
  ASSERT_TRUE(Retire("1-3,6-7").ok());
  for (const bool restarted : {false, true}) {
    if (restarted) Restart();
    const absl::Status refused = Grant("summer", {Gaussian(2)});
    EXPECT_TRUE(IsError(refused, StatusCode::kFailedPrecondition, "BLOCK_RETIRED",
                        "block 5 is retired: nothing more of it is granted"));
    EXPECT_EQ(ReasonOf(refused).metadata["block"], "5");
    EXPECT_EQ(ReasonOf(Grant("all", {Gaussian(100)})).metadata["block"], "1");
    // More by any measure is more, also of what was granted before.
    EXPECT_EQ(ReasonOf(Grant("spring", {Gaussian(1.9)})).reason, "BLOCK_RETIRED");
    EXPECT_TRUE(Grant("spring", {Gaussian(2)}).ok());
    const v1::ComputeBudgetResponse answer = Ask({Gaussian(2)}, "summer");
    EXPECT_EQ(events::BlocksText(answer.retired_blocks()), "1-3,5-7");
    EXPECT_FALSE(answer.fits());
    EXPECT_EQ(Ask({Gaussian(2)}).retired_block(), 1u);  // of all blocks
    EXPECT_TRUE(Ask({Gaussian(2)}, "spring").fits());
  }
  // What was granted before is there to be used, and to be given back, but for once.
  EXPECT_TRUE(Append("spring", {Gaussian(2)}).ok());
  EXPECT_TRUE(Grant("autumn", {Gaussian(1)}).ok());
  CreateRunOn("late", "1-2");
  EXPECT_TRUE(Grant("late", {}).ok());
  EXPECT_EQ(ReasonOf(Grant("late", {Gaussian(9)})).reason, "BLOCK_RETIRED");
  EXPECT_EQ(SizeOf("budget"), 8u);  // the refused ones are not there
}

// A long budget is not read again from its first entry on.
TEST_F(BudgetTest, WhatIsGrantedAndRetiredIsInItsStoredTable) {
  CreateBudget(kRho, "the month of the first visit");
  CreateRunOn("spring", "1-6");
  ASSERT_TRUE(Grant("spring", {Gaussian(2)}).ok());
  ASSERT_TRUE(Retire("5-6").ok());
  for (int part = 0; part < 4; ++part) {
    v1::AppendBatchRequest notes = Batch(LedgerName("budget"), "w", absl::StrCat("notes", part));
    for (int i = 0; i < 3000; ++i) notes.add_entries()->mutable_note()->set_text("seen");
    ASSERT_TRUE(rig_.store().Append(notes).ok());
  }
  const double spent = Ask().spending().spent();
  const auto table = rig_.store().GetHistory(LedgerName("budget"));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->grants_size(), 1);
  EXPECT_EQ(events::BlocksText(table->retired_blocks()), "5-6");
  Restart();
  EXPECT_EQ(Ask().spending().spent(), spent);
  EXPECT_EQ(events::BlocksText(Ask().retired_blocks()), "5-6");
  EXPECT_EQ(ReasonOf(Grant("spring", {Gaussian(1.9)})).reason, "BLOCK_RETIRED");
}

TEST_F(BudgetTest, RefusesToRetireWhatIsNoBlock) {
  CreateBudget(kRho);
  EXPECT_TRUE(
      IsError(Retire("1"), StatusCode::kFailedPrecondition, "NO_BLOCKS", "it has none to retire"));
  const auto refused = [&](const std::string& message, auto&& change) {
    v1::AppendBatchRequest batch = RetireRequest("2-3");
    change(*batch.mutable_entries(0)->mutable_retired_blocks());
    EXPECT_TRUE(IsError(rig_.store().Append(batch).status(), StatusCode::kInvalidArgument,
                        "INVALID_FIELD", message));
  };
  refused("retired_blocks.blocks: must name a block", [](auto& retired) { retired.Clear(); });
  refused("retired_blocks.blocks[0].last",
          [](auto& retired) { retired.mutable_blocks(0)->set_last(10'001); });
  refused("retired_blocks.reason",
          [](auto& retired) { retired.set_reason(std::string(1025, 'x')); });
  EXPECT_EQ(SizeOf("budget"), 1u);
}

TEST_F(BudgetTest, RefusesBlocksThatAreNone) {
  CreateBudget(kRho);
  v1::Declaration run = CreateRequest(LedgerName("x")).declaration();
  UnderBudget(v1::ADAPTIVE)(run);
  *run.mutable_blocks() = *events::BlocksFromText("1");
  v1::CreateLedgerRequest create = CreateRequest(LedgerName("x"));
  *create.mutable_declaration() = run;
  EXPECT_TRUE(IsError(rig_.store().Create(create).status(), StatusCode::kInvalidArgument,
                      "INVALID_FIELD", "declaration.blocks: must be the budget's"));
  EXPECT_EQ(events::CheckDeclaration(run), absl::OkStatus());
  const auto refused = [&](const std::string& message, auto&& change) {
    v1::Declaration changed = run;
    change(changed);
    EXPECT_TRUE(IsError(events::CheckDeclaration(changed), StatusCode::kInvalidArgument,
                        "INVALID_FIELD", message));
  };
  refused("blocks[0].last", [](auto& d) { d.mutable_blocks(0)->clear_last(); });
  refused("unless a budget is named", [](auto& d) { d.clear_budget(); });
  refused("unless kind is BUDGET", [](auto& d) { d.set_block_assignment("x"); });
  const auto be_budget = [](v1::Declaration& d) {
    d.clear_budget();
    d.clear_blocks();
    d.set_kind(v1::BUDGET);
    d.set_block_assignment("x");
    *d.mutable_filter() = accountant::FromText<v1::Filter>(kRho);
  };
  refused("REPLACE_ONE", [&](auto& d) {
    be_budget(d);
    d.set_adjacency(v1::REPLACE_ONE);
  });
  be_budget(run);
  EXPECT_EQ(events::CheckDeclaration(run), absl::OkStatus());
  for (const char* bad : {"0", "10001", "3-2", "1,2", "5-9,9-12", "4-5,1-2", "a", "1-", "-3"}) {
    EXPECT_TRUE(IsError(events::BlocksFromText(bad).status(), StatusCode::kInvalidArgument,
                        "INVALID_FIELD", "blocks"))
        << bad;
  }
  EXPECT_EQ(events::BlocksText(*events::BlocksFromText("1-12,14,16-10000")), "1-12,14,16-10000");
}

TEST_F(BudgetTest, RepeatedRequestIsAnsweredOnce) {
  CreateBudget(kRho);
  CreateRun("a");
  const v1::GrantBudgetRequest first = GrantOf("a", {Gaussian(1)});
  const auto receipt = rig_.store().Grant(first, "");
  ASSERT_TRUE(receipt.ok()) << receipt.status();
  ASSERT_TRUE(Grant("a", {Gaussian(2)}).ok());
  const auto again = rig_.store().Grant(first, "");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->SerializeAsString(), receipt->SerializeAsString());
  EXPECT_EQ(SizeOf("budget"), 3u);
  EXPECT_EQ(SizeOf("a"), 3u);
  v1::GrantBudgetRequest other = first;
  other.set_reason("another");
  EXPECT_TRUE(IsError(Grant(other), StatusCode::kInvalidArgument, "REQUEST_ID_REUSED", ""));
}

TEST_F(BudgetTest, WholeEpochsAreGrantedAndSpent) {
  CreateBudget("rdp { order: 8 epsilon: 3 }");
  CreateRun("a");
  v1::Event epochs = Rounds(30, 2);
  epochs.mutable_rounds()->mutable_scheme()->mutable_random_allocation()->set_rounds_per_epoch(10);
  ASSERT_EQ(Grant("a", {epochs}), absl::OkStatus());
  v1::Event one = epochs;
  one.mutable_rounds()->set_count(10);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Append("a", {one}).ok());
  EXPECT_EQ(ReasonOf(Append("a", {one})).reason, "BUDGET_EXCEEDED");
}

TEST_F(BudgetTest, ForkHasAGrantOfItsOwn) {
  CreateBudget(kRho);
  CreateRun("a");
  ASSERT_TRUE(Grant("a", {Gaussian(1)}).ok());
  ASSERT_TRUE(Append("a", {Gaussian(1)}).ok());
  rig_.Fork("a", SizeOf("a"), "child");
  ExpectExceeded(Append("child", {Gaussian(2)}), "0");
  ExpectExceeded(Grant("child", {Gaussian(0.9)}), "");
  ASSERT_TRUE(Grant("child", {Gaussian(1)}).ok());
  EXPECT_TRUE(Append("child", {Gaussian(2)}).ok());
  const v1::ComputeEpsilonResponse answer = rig_.Answer({"child"});
  EXPECT_NEAR(answer.details().filter_spending(0).spent(), 0.125, 1e-12);
  EXPECT_NEAR(answer.details().filter_spending(0).granted(), 0.5, 1e-11);
  EXPECT_TRUE(Append("child", {Gaussian(2), Gaussian(2), Gaussian(2)}).ok());
  ExpectExceeded(Append("child", {Gaussian(100)}), "0");
  Restart();
  ExpectExceeded(Append("child", {Gaussian(100)}), "0");
}

TEST_F(BudgetTest, RefusesWhatIsNoGrantByName) {
  CreateBudget(kRho);
  CreateRun("a");
  rig_.Create("free");
  EXPECT_TRUE(IsError(Append("budget", {Gaussian(9)}), StatusCode::kFailedPrecondition,
                      "BUDGET_ONLY", "is a budget"));
  EXPECT_TRUE(IsError(Grant("free", {Gaussian(9)}), StatusCode::kFailedPrecondition, "NO_BUDGET",
                      "declares no budget"));
  EXPECT_TRUE(IsError(Grant("none", {Gaussian(9)}), StatusCode::kNotFound, "LEDGER_NOT_FOUND", ""));
  v1::Event non_private = Gaussian(1);
  non_private.mutable_mechanism()->mutable_gaussian()->set_noise_multiplier(0.001);
  ExpectExceeded(Grant("a", {non_private}), "");
  const auto create = [&](const std::string& id, auto&& change) {
    v1::CreateLedgerRequest request = CreateRequest(LedgerName(id));
    UnderBudget(v1::ADAPTIVE)(*request.mutable_declaration());
    change(*request.mutable_declaration());
    return rig_.store().Create(request).status();
  };
  EXPECT_TRUE(IsError(create("x", [](auto& d) { d.set_dataset("other"); }),
                      StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "declaration.dataset: must be the budget's"));
  EXPECT_TRUE(IsError(create("x", [](auto& d) { d.mutable_filter()->mutable_zcdp()->set_rho(2); }),
                      StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "declaration.filter: must be the budget's"));
  EXPECT_TRUE(IsError(create("x", [](auto& d) { d.set_budget(LedgerName("none")); }),
                      StatusCode::kNotFound, "LEDGER_NOT_FOUND", ""));
  EXPECT_TRUE(IsError(create("x", [](auto& d) { d.set_budget(LedgerName("a")); }),
                      StatusCode::kFailedPrecondition, "NO_BUDGET", ""));
  v1::ForkLedgerRequest fork;
  fork.set_parent(LedgerName("budget"));
  fork.set_name(LedgerName("x"));
  fork.set_request_id("fork");
  EXPECT_TRUE(IsError(rig_.store().Fork(fork, {1, rig_.RootOf("budget", 1)}).status(),
                      StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "parent: must not be a budget"));
  v1::SealLedgerRequest seal;
  seal.set_name(LedgerName("budget"));
  seal.set_request_id("seal");
  ASSERT_TRUE(rig_.store().Seal(seal).ok());
  EXPECT_TRUE(
      IsError(Grant("a", {Gaussian(9)}), StatusCode::kFailedPrecondition, "LEDGER_SEALED", ""));
}

TEST_F(BudgetTest, AnswersCountTheBudgetOnce) {
  CreateBudget("mixture { epsilon: 3 delta: 1e-5 orders: 2 orders: 4 orders: 8 orders: 16 }");
  CreateRun("a");
  CreateRun("b", v1::FIXED);
  ASSERT_TRUE(Grant("a", {Rounds(100)}).ok());
  ASSERT_TRUE(Grant("b", {Rounds(200)}).ok());
  ASSERT_TRUE(Append("a", {Rounds(50)}).ok());
  ASSERT_TRUE(Append("b", {Rounds(200)}).ok());
  const v1::ComputeEpsilonResponse together = rig_.Answer({"a", "b", "budget"});
  EXPECT_EQ(together.details().regime(), v1::FILTER);
  EXPECT_EQ(together.epsilon().upper(), 3);
  ASSERT_EQ(together.details().filter_spending_size(), 3);
  const v1::FilterSpending& a = together.details().filter_spending(0);
  EXPECT_EQ(a.budget(), LedgerName("budget"));
  EXPECT_LT(a.spent(), a.granted());
  // A plan by itself is answered by what it is.
  EXPECT_EQ(rig_.Answer({"b"}).details().regime(), v1::FIXED_PLAN);
  EXPECT_LT(rig_.Answer({"b"}).epsilon().upper(), 3);
  const v1::ComputeEpsilonResponse budget = rig_.Answer({"budget"});
  EXPECT_EQ(budget.epsilon().upper(), 3);
  EXPECT_NEAR(budget.details().filter_spending(0).spent() /
                  SpentBy("mixture { epsilon: 3 delta: 1e-5 orders: 2 orders: 4 orders: 8 orders: "
                          "16 }",
                          {Rounds(300)}),
              1, 1e-9);
}

// Of another server's budget, whatever its name, nothing is known here.
TEST_F(BudgetTest, CopiesAreUnderNoBudgetOfThisServer) {
  CreateBudget(kMixture);
  CreateRun("a");
  const auto import = [&](const std::string& id, const std::string& original) {
    v1::LedgerEntry first;
    first.ParseFromString(rig_.Entries(original, 0, 1)[0]);
    first.mutable_declaration()->set_description("of another server");
    const std::string entry = first.SerializeAsString();
    v1::CreateLedgerRequest request;
    request.set_name(LedgerName(id));
    request.set_request_id(id);
    v1::Import& copied = *request.mutable_import();
    copied.set_origin("elsewhere/" + LedgerName(original));
    copied.set_size(1);
    copied.set_root_hash(merkle::ToBytes(merkle::LeafHash(entry)));
    *copied.mutable_declaration() = first.declaration();
    AccountedStore::Must(rig_.store().Create(request));
    v1::AppendBatchRequest batch = Batch(LedgerName(id), "w", "entries");
    batch.add_entries()->mutable_imported()->set_entry(entry);
    rig_.Append(batch);
  };
  import("copy", "a");
  import("budget-copy", "budget");
  // What the others under it did, nobody here knows.
  EXPECT_THAT(rig_.Answer({"budget-copy"}).details().warnings(),
              ::testing::Contains(questions::kBudgetNotChecked));
  EXPECT_THAT(rig_.Answer({"budget"}).details().warnings(),
              ::testing::Not(::testing::Contains(questions::kBudgetNotChecked)));
  EXPECT_EQ(rig_.Answer({"a"}).epsilon().upper(), 4);
  EXPECT_EQ(rig_.Answer({"a", "budget"}).epsilon().upper(), 4);
  EXPECT_DOUBLE_EQ(rig_.Answer({"a", "copy"}).epsilon().upper(), 8);
  EXPECT_DOUBLE_EQ(rig_.Answer({"a", "copy", "budget-copy"}).epsilon().upper(), 12);
  const auto all = rig_.source().GatherAll(
      {LedgerName("a"), LedgerName("budget"), LedgerName("budget-copy")}, 0, {});
  EXPECT_EQ(questions::FiltersOf(all->held).size(), 2u);
  SubjectSource bundles(&rig_.store(), size_t{1} << 20, nullptr, {}, /*of_one_server=*/false);
  v1::Subject both;
  for (const char* id : {"a", "budget"}) both.add_ledgers(LedgerName(id));
  EXPECT_EQ(questions::FiltersOf(bundles.Gather(both, 0, {})->held).size(), 2u);
  v1::ForkLedgerRequest fork;
  fork.set_parent(LedgerName("copy"));
  fork.set_name(LedgerName("child"));
  fork.set_request_id("fork");
  EXPECT_TRUE(IsError(rig_.store().Fork(fork, {2, rig_.RootOf("copy", 2)}).status(),
                      StatusCode::kInvalidArgument, "INVALID_FIELD", "a run under a budget"));
}

TEST_F(BudgetTest, GrantsOfNothingTakeNoRoom) {
  CreateBudget("zcdp { rho: 1000 }");
  std::vector<v1::Event> plan(64, Gaussian(20));
  absl::Status status;
  int granted = 0;
  for (; status.ok() && granted < 2000; ++granted) {
    CreateRun(absl::StrCat("r", granted));
    status = Grant(absl::StrCat("r", granted), plan);
  }
  EXPECT_EQ(ReasonOf(status).reason, "BUDGET_FULL") << status;
  EXPECT_GT(granted, 500);
  const std::string last = absl::StrCat("r", granted - 1);
  EXPECT_TRUE(Grant("r0", std::vector<v1::Event>(63, Gaussian(20))).ok());
  EXPECT_TRUE(Grant("r0", std::vector<v1::Event>(63, Gaussian(21))).ok());
  EXPECT_TRUE(Grant(last, {}).ok());
  EXPECT_TRUE(Grant("r1", {}).ok());
  EXPECT_TRUE(Grant("r2", {Gaussian(20)}).ok());
  EXPECT_TRUE(Grant(last, plan).ok());
  Restart();
  EXPECT_EQ(Grant("r1", plan), absl::OkStatus());
}

// Other orders than those that the whole spends by may be above the grant.
TEST_F(BudgetTest, RunThatHoldsMoreThanItsGrantByAnyMeasureIsNotAnswered) {
  CreateBudget(
      "mixture { epsilon: 8 delta: 1e-6 orders: 2 orders: 3 orders: 4 orders: 5 orders: 6 "
      "orders: 8 orders: 12 orders: 24 }");
  CreateRun("a");
  v1::Event sampled = Rounds(72, 0.6);
  sampled.mutable_rounds()->mutable_scheme()->mutable_poisson()->set_probability(.002);
  ASSERT_TRUE(Grant("a", {sampled}).ok());
  v1::AppendBatchRequest open = Batch(LedgerName("a"), "w", "open");
  AddNote(open, "begins");
  rig_.Append(open);
  v1::Event late = Rounds(495, 30);
  late.mutable_rounds()->mutable_scheme()->mutable_full_batch();
  v1::AppendBatchRequest batch = Batch(LedgerName("a"), "w", "late");
  *batch.add_entries()->mutable_late_event()->mutable_event() = late;
  rig_.Append(batch);
  EXPECT_TRUE(IsError(rig_.Ask(std::vector<std::string>{"a"}).status(),
                      StatusCode::kFailedPrecondition, "BUDGET_EXCEEDED", "by some measure"));
}

TEST_F(BudgetTest, RaceOfGrantsTakesExactlyWhatFits) {
  CreateBudget(kRho);
  constexpr int kRuns = 8, kSteps = 40;  // each asks for one more of ρ = 1/256 at a time
  for (int i = 0; i < kRuns; ++i) CreateRun(absl::StrCat("run", i));
  std::atomic<int> granted = 0, refused = 0;
  std::vector<std::thread> trainers;
  for (int i = 0; i < kRuns; ++i) {
    trainers.emplace_back([&, i] {
      const std::string run = absl::StrCat("run", i);
      int held = 0;
      for (int step = 0; step < kSteps; ++step) {
        v1::Event plan = Rounds(static_cast<uint64_t>(held) + 1, std::sqrt(128.0));
        plan.mutable_rounds()->mutable_scheme()->mutable_full_batch();
        v1::GrantBudgetRequest request;
        request.set_budget(LedgerName("budget"));
        request.set_ledger(LedgerName(run));
        request.set_request_id(absl::StrCat(run, ".", step));
        *request.add_plan() = plan;
        if (Grant(request).ok()) {
          ++held;
          ++granted;
        } else {
          ++refused;
        }
      }
    });
  }
  for (std::thread& trainer : trainers) trainer.join();
  EXPECT_EQ(granted, 256);
  EXPECT_EQ(refused, kRuns * kSteps - 256);
}

}  // namespace
}  // namespace dpledger::server
