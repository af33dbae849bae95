// Whoever checks a budget's record finds what a server that keeps budgets would have refused.
#include "questions/held_log.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "tests/events/field_rules.h"

namespace dpledger::questions {
namespace {

constexpr char kTerms[] =
    "dataset: 'd' unit_of_privacy: 'u' adjacency: ADD_OR_REMOVE_ONE parameters: ADAPTIVE "
    "filter { zcdp { rho: 1 } } ";
// Half of the budget.
std::string GrantTo(const std::string& ledger) {
  return absl::StrCat("budget: 'b' ledger: '", ledger,
                      "' plan { mechanism { gaussian { noise_multiplier: 1 } } }");
}

struct Record {
  absl::Status Add(const std::string& body) {
    auto entry = accountant::FromText<v1::LedgerEntry>(body);
    entry.set_sequence(sequence_++);
    return log_.Add(entry.SerializeAsString());
  }
  absl::Status Declare(const std::string& more) {
    return Add(absl::StrCat("declaration { ", kTerms, more, " }"));
  }
  HeldLog log_;
  uint64_t sequence_ = 0;
};

class HeldLogTest : public ::testing::Test, protected Record {
 protected:
  static void ExpectExceeded(const absl::Status& status, const std::string& sequence) {
    EXPECT_EQ(ReasonOf(status).reason, "BUDGET_EXCEEDED") << status;
    EXPECT_EQ(ReasonOf(status).metadata["sequence"], sequence);
  }
};

TEST_F(HeldLogTest, FindsTheGrantThatDidNotFitInOneBlock) {
  ASSERT_EQ(Declare("kind: BUDGET block_assignment: 'region'"), absl::OkStatus());
  const auto grant = [&](const std::string& ledger, int first, int last) {
    return Add(absl::StrCat("grant { ", GrantTo(ledger), " blocks { first: ", first,
                            " last: ", last, " } }"));
  };
  EXPECT_TRUE(grant("r", 1, 5).ok());
  EXPECT_TRUE(grant("s", 5, 9).ok());
  EXPECT_TRUE(grant("t", 6, 12).ok());
  const absl::Status found = grant("u", 9, 9);
  ExpectExceeded(found, "4");
  EXPECT_NE(found.message().find("in block 9"), std::string::npos) << found;
}

TEST_F(HeldLogTest, FindsTheGrantOfARetiredBlock) {
  ASSERT_EQ(Declare("kind: BUDGET block_assignment: 'region'"), absl::OkStatus());
  const auto grant = [&](const std::string& ledger, int first, int last) {
    return Add(absl::StrCat("grant { ", GrantTo(ledger), " blocks { first: ", first,
                            " last: ", last, " } }"));
  };
  EXPECT_TRUE(grant("r", 1, 5).ok());
  EXPECT_TRUE(Add("writer: 'a' retired_blocks { blocks { first: 5 last: 7 } }").ok());
  EXPECT_TRUE(grant("r", 1, 5).ok());  // as before
  EXPECT_TRUE(grant("s", 1, 4).ok());
  const absl::Status found = grant("t", 6, 9);
  EXPECT_EQ(ReasonOf(found).reason, "BLOCK_RETIRED") << found;
  EXPECT_EQ(ReasonOf(found).metadata["sequence"], "5");
}

TEST_F(HeldLogTest, FindsTheGrantThatDidNotFit) {
  ASSERT_EQ(Declare("kind: BUDGET"), absl::OkStatus());
  EXPECT_TRUE(Add(absl::StrCat("grant { ", GrantTo("r"), "}")).ok());
  EXPECT_TRUE(Add(absl::StrCat("grant { ", GrantTo("s"), "}")).ok());
  EXPECT_EQ(log_.grants().size(), 2u);
  EXPECT_NEAR(log_.run().Spent(), 1, 1e-11);
  EXPECT_TRUE(Add(absl::StrCat("grant { ", GrantTo("r"), "}")).ok());  // in place of its first
  ExpectExceeded(Add(absl::StrCat("grant { ", GrantTo("t"), "}")), "4");
}

TEST_F(HeldLogTest, FindsTheEntryThatCostMoreThanTheGrant) {
  ASSERT_EQ(Declare("budget: 'b'"), absl::OkStatus());
  const std::string half = "writer: 'w' event { mechanism { gaussian { noise_multiplier: 1 } } }";
  EXPECT_TRUE(Add(absl::StrCat("granted { ", GrantTo("r"), "}")).ok());
  EXPECT_TRUE(Add(half).ok());
  ExpectExceeded(Add(half), "3");
}

TEST_F(HeldLogTest, FindsTheGrantBelowWhatWasSpent) {
  ASSERT_EQ(Declare("budget: 'b'"), absl::OkStatus());
  EXPECT_TRUE(Add(absl::StrCat("granted { ", GrantTo("r"), "}")).ok());
  EXPECT_TRUE(Add("writer: 'w' event { mechanism { gaussian { noise_multiplier: 1 } } }").ok());
  ExpectExceeded(Add("granted { budget: 'b' ledger: 'r' }"), "3");
}

// What a run had not spent when it was sealed, it gave back.
TEST_F(HeldLogTest, FindsWhatCameAfterASealThatGaveBack) {
  for (const bool is_missing : {false, true}) {
    Record log;
    ASSERT_EQ(log.Declare("budget: 'b'"), absl::OkStatus());
    EXPECT_TRUE(log.Add(absl::StrCat("granted { ", GrantTo("r"), "}")).ok());
    EXPECT_TRUE(log.Add("writer: 'w' note { text: 'begins' }").ok());
    EXPECT_TRUE(log.Add(is_missing ? "seal { missing_writers: 'w' }" : "seal {}").ok());
    v1::BudgetGrant all, nothing;
    *all.add_plan() =
        accountant::FromText<v1::Event>("mechanism { gaussian { noise_multiplier: 1 } }");
    EXPECT_EQ(log.log_.CheckHolds(all), absl::OkStatus());
    EXPECT_EQ(log.log_.CheckHolds(nothing).ok(), !is_missing);
    const absl::Status late = log.Add(
        "writer: 'w' late_event { event { mechanism { gaussian { noise_multiplier: 1 } } } }");
    if (is_missing) {
      EXPECT_EQ(late, absl::OkStatus());
      EXPECT_EQ(log.log_.CheckHolds(all), absl::OkStatus());
    } else {
      ExpectExceeded(late, "4");
    }
  }
}

TEST_F(HeldLogTest, FindsTheRunThatHoldsMoreThanItsBudgetSays) {
  ASSERT_EQ(Declare("budget: 'b'"), absl::OkStatus());
  EXPECT_TRUE(Add(absl::StrCat("granted { ", GrantTo("r"), "}")).ok());
  EXPECT_TRUE(Add("writer: 'w' event { mechanism { gaussian { noise_multiplier: 2 } } }").ok());
  v1::BudgetGrant grant;
  v1::Gaussian& plan = *grant.add_plan()->mutable_mechanism()->mutable_gaussian();
  for (const auto& [noise, holds] : {std::pair(1.9, true), {2, true}, {2.1, false}}) {
    plan.set_noise_multiplier(noise);
    EXPECT_EQ(log_.CheckHolds(grant).ok(), holds) << noise;
  }
  grant.clear_plan();
  EXPECT_EQ(ReasonOf(log_.CheckHolds(grant)).reason, "BUDGET_EXCEEDED");
}

TEST_F(HeldLogTest, FindsTheEventOfABudget) {
  const std::string event = "event { mechanism { gaussian { noise_multiplier: 1 } } }";
  for (const std::string& body : {event, absl::StrCat("late_event { ", event, " }")}) {
    Record log;
    ASSERT_EQ(log.Declare("kind: BUDGET"), absl::OkStatus());
    EXPECT_EQ(ReasonOf(log.Add(absl::StrCat("writer: 'w' ", body))).reason, "BUDGET_ONLY");
  }
}

TEST_F(HeldLogTest, SaysWhatIsUnderNoBudget) {
  EXPECT_EQ(ReasonOf(Declare("")).reason, "NO_BUDGET");
}

}  // namespace
}  // namespace dpledger::questions
