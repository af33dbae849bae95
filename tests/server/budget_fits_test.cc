// What would fit into a budget, and what its runs would cost as one plan.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "absl/strings/numbers.h"
#include "tests/server/budgeted_store.h"

namespace dpledger::server {
namespace {

TEST_F(BudgetTest, RoundsLeftAreThoseOfTheFullestBlock) {
  CreateBudget(kMixture, "by region");
  CreateRunOn("a", "1-4");
  CreateRunOn("b", "4-8");
  CreateRunOn("c", "2-20");
  ASSERT_TRUE(Grant("a", {Rounds(1000)}).ok());
  ASSERT_TRUE(Grant("b", {Rounds(500, 2)}).ok());
  const absl::Status refused = Grant("c", {Rounds(100'000, 0.9)});
  const std::string left = ReasonOf(refused).metadata["rounds_left"];
  uint64_t fits = 0;
  ASSERT_TRUE(absl::SimpleAtoi(left, &fits)) << refused;
  EXPECT_GT(fits, 10u);
  ExpectExceeded(Grant("c", {Rounds(fits + 1, 0.9)}), left);
  EXPECT_LE(SpentBy(kMixture, {Rounds(1000), Rounds(500, 2), Rounds(fits, 0.9)}), 4);
  EXPECT_GT(SpentBy(kMixture, {Rounds(1000), Rounds(500, 2), Rounds(fits + 1, 0.9)}), 4);
  EXPECT_TRUE(Grant("c", {Rounds(fits, 0.9)}).ok());
}

TEST_F(BudgetTest, SaysHowManyRoundsOfTheLastEventFitBesideTheRest) {
  CreateBudget(kRho);
  CreateRun("a");
  const auto rounds = [](uint64_t count, double z) {
    v1::Event event = Rounds(count, z);
    event.mutable_rounds()->mutable_scheme()->mutable_full_batch();
    return event;
  };
  EXPECT_EQ(Ask({rounds(150, 10), rounds(1, 2)}).rounds_left(), 2u);  // of 1/8 beside 3/4
  EXPECT_EQ(Ask({rounds(1, 2), rounds(150, 10)}).rounds_left(), 175u);
  EXPECT_FALSE(Ask({rounds(1, 2), Gaussian(10)}).has_rounds_left());
  ExpectExceeded(Grant("a", {rounds(150, 10), rounds(3, 2)}), "2");
}

// What the answer names is granted, and is not once its noise is a little less.
TEST_F(BudgetTest, SaysHowMuchNoiseWouldFit) {
  CreateBudget(kMixture);
  CreateRun("before");
  CreateRun("run");
  ASSERT_TRUE(Grant("before", {Rounds(1000)}).ok());
  EXPECT_FALSE(Ask({Rounds(100)}, "run").has_with_more_noise());  // it fits as it is
  const v1::Event whole = accountant::FromText<v1::Event>(
      R"pb(rounds {
             scheme { poisson { probability: 0.01 } }
             queries { l2_norm_bound: 1000 noise_stddev: 500 noise: ROUNDED_GAUSSIAN grid: 1e-3 }
             queries { l2_norm_bound: 500 noise_stddev: 1001 noise: ROUNDED_GAUSSIAN grid: 1e-3 }
             count: 2000
           })pb");
  v1::Event laplace;
  laplace.mutable_mechanism()->mutable_laplace()->set_noise_multiplier(.1);
  for (const std::vector<v1::Event>& plan : {std::vector{Rounds(100'000, .9)},
                                             {Rounds(100), Rounds(50'000, .8, 3)},
                                             {Gaussian(.01)},
                                             {laplace},
                                             {whole}}) {
    const v1::ComputeBudgetResponse answer = Ask(plan, "run");
    ASSERT_TRUE(answer.has_with_more_noise()) << plan.back().ShortDebugString();
    std::vector<v1::Event> noisier(plan.begin(), plan.end() - 1);
    noisier.push_back(answer.with_more_noise());
    EXPECT_TRUE(Grant("run", noisier).ok()) << noisier.back().ShortDebugString();
    ASSERT_TRUE(Grant("run", {}).ok());
    v1::Event& last = noisier.back();
    if (last.has_rounds()) {
      for (v1::SumQuery& query : *last.mutable_rounds()->mutable_queries()) {
        const bool is_whole = query.grid() > 0;
        EXPECT_EQ(is_whole && query.noise_stddev() != std::floor(query.noise_stddev()), false);
        query.set_noise_stddev(is_whole ? std::floor(query.noise_stddev() * .997)
                                        : query.noise_stddev() * .997);
      }
    } else if (last.mechanism().has_gaussian()) {
      last.mutable_mechanism()->mutable_gaussian()->set_noise_multiplier(
          last.mechanism().gaussian().noise_multiplier() * .997);
    } else {
      last.mutable_mechanism()->mutable_laplace()->set_noise_multiplier(
          last.mechanism().laplace().noise_multiplier() * .997);
    }
    EXPECT_EQ(ReasonOf(Grant("run", noisier)).reason, "BUDGET_EXCEEDED")
        << noisier.back().ShortDebugString();
  }
  // Of what has no such number, and of what nothing helps, nothing is said.
  EXPECT_FALSE(
      Ask({accountant::FromText<v1::Event>("mechanism { exponential_mechanism { epsilon: 50 } }")},
          "run")
          .has_with_more_noise());
  EXPECT_FALSE(Ask({Rounds(100'000, .5), Rounds(10)}, "run").has_with_more_noise());
}

// docs/concepts.md, Filters: three runs, each planned after the outputs before.
TEST_F(BudgetTest, EnforcesMoreThanTheSameEventsWouldCostAsOnePlan) {
  CreateBudget(
      "mixture { epsilon: 6.31 delta: 1e-6 orders: 2 orders: 3 orders: 4 orders: 5 orders: 6 "
      "orders: 8 orders: 12 orders: 24 }");
  const auto rounds = [](double probability, double z, uint64_t count) {
    v1::Event event = Rounds(count, z);
    event.mutable_rounds()->mutable_scheme()->mutable_poisson()->set_probability(probability);
    return event;
  };
  const std::pair<std::string, v1::Event> runs[] = {
      {"x", rounds(.01, 1, 2000)}, {"y", rounds(.02, 1.3, 1500)}, {"z", rounds(.005, .8, 3000)}};
  v1::Subject together;
  for (const auto& [id, event] : runs) {
    CreateRun(id);
    ASSERT_TRUE(Grant(id, {event}).ok()) << id;
    ASSERT_TRUE(Append(id, {event}).ok()) << id;
    together.add_ledgers(LedgerName(id));
  }
  EXPECT_NEAR(Ask().spending().spent(), 6.302, 1e-3);
  v1::ComputeEpsilonRequest request;
  request.set_delta(1e-6);
  const auto enforced = questions::Answer(rig_.Gather(together), request, {});
  ASSERT_TRUE(enforced.ok()) << enforced.status();
  EXPECT_EQ(enforced->details().regime(), v1::FILTER);
  EXPECT_NEAR(enforced->epsilon().upper(), 6.31, 1e-9);
  request.mutable_options()->set_as_planned(true);
  const auto planned = questions::Answer(rig_.Gather(together), request, {});
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->details().regime(), v1::AS_PLANNED);
  EXPECT_NEAR(planned->epsilon().upper(), 5.451, 1e-3);
  // What budgets set aside would be there twice.
  together.add_ledgers(LedgerName("budget"));
  EXPECT_TRUE(IsError(questions::Answer(rig_.Gather(together), request, {}).status(),
                      absl::StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "options.as_planned: is of what runs did"));
}

}  // namespace
}  // namespace dpledger::server
