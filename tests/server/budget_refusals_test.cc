// What is kept of refusals does not grow, and one run does not push out what others were refused.
#include "server/questions/budget_refusals.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace dpledger::server {
namespace {

v1::BudgetRefusal Of(const std::string& run, bool of_batch = false) {
  v1::BudgetRefusal refusal;
  refusal.set_ledger(run);
  refusal.set_of_batch(of_batch);
  return refusal;
}

TEST(BudgetRefusals, KeepsOneOfAKindOfEachRunTheLatestFirst) {
  BudgetRefusals refusals;
  EXPECT_TRUE(refusals.Of("b").empty());
  refusals.Note("b", Of("first"));
  for (int i = 0; i < 100; ++i) refusals.Note("b", Of("often"));
  refusals.Note("b", Of("often", /*of_batch=*/true));
  refusals.Note("b", Of("first"));
  const auto all = refusals.Of("b");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].ledger(), "first");
  EXPECT_EQ(all[0].times(), 2u);
  EXPECT_TRUE(all[1].of_batch());
  EXPECT_EQ(all[2].times(), 100u);
  EXPECT_GT(all[2].time().seconds(), 0);
}

TEST(BudgetRefusals, AreBounded) {
  BudgetRefusals refusals;
  for (int run = 0; run < 25; ++run) refusals.Note("b", Of(absl::StrCat(run)));
  EXPECT_EQ(refusals.Of("b").size(), 20u);
  EXPECT_EQ(refusals.Of("b").back().ledger(), "5");
  for (int budget = 0; budget < 1000; ++budget) refusals.Note(absl::StrCat(budget), Of("r"));
  EXPECT_TRUE(refusals.Of("b").empty());
  EXPECT_EQ(refusals.Of("0").size(), 1u);
}

}  // namespace
}  // namespace dpledger::server
