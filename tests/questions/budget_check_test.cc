// The budget's record and a run's tell of the same grants, or the check says where they do not.
#include "questions/budget_check.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "tests/events/field_rules.h"

namespace dpledger::questions {
namespace {

constexpr char kTerms[] =
    "dataset: 'd' unit_of_privacy: 'u' adjacency: ADD_OR_REMOVE_ONE parameters: ADAPTIVE "
    "filter { zcdp { rho: 1 } } ";
constexpr char kEvent[] =
    "writer: 'a' event { mechanism { gaussian { noise_multiplier: 1 } } }";  // ρ of 0.5
std::string Grant(const std::string& ledger, double noise = 1) {
  return absl::StrCat("budget: 'b' ledger: '", ledger,
                      "' plan { mechanism { gaussian { noise_multiplier: ", noise, " } } }");
}

class BudgetCheckTest : public ::testing::Test {
 protected:
  void Begin(const std::string& ledger, const std::string& declared) {
    check_.Begin(absl::StrCat("reg/", ledger), "reg");
    sequence_ = 0;
    Add(absl::StrCat("declaration { ", kTerms, declared, " }"));
  }
  void Add(const std::string& body) {
    auto entry = accountant::FromText<v1::LedgerEntry>(body);
    entry.set_sequence(sequence_++);
    added_ = check_.Add(entry.SerializeAsString());
  }
  void AddBudget(const std::string& name = "b") {
    Begin(name, "kind: BUDGET");
    Add(absl::StrCat("grant { ", Grant("r"), " }"));
    Add(absl::StrCat("grant { ", Grant("s"), " }"));
  }
  void AddRun(const std::string& name, const std::string& declared = "budget: 'b'") {
    Begin(name, declared);
    Add(absl::StrCat("granted { ", Grant(name), " }"));
    Add(kEvent);
  }
  void ExpectDiffers(const std::string& origin, const std::string& how) {
    const auto answer = check_.Verify();
    EXPECT_EQ(ReasonOf(answer.status()).reason, kBudgetDiffers) << answer.status();
    EXPECT_EQ(ReasonOf(answer.status()).metadata["origin"], origin);
    EXPECT_TRUE(absl::StrContains(answer.status().message(), how)) << answer.status();
  }
  void ExpectInvalid(const std::string& how) {
    const auto answer = check_.Verify();
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument) << answer.status();
    EXPECT_TRUE(absl::StrContains(answer.status().message(), how)) << answer.status();
  }

  BudgetCheck check_;
  uint64_t sequence_ = 0;
  absl::Status added_;
};

TEST_F(BudgetCheckTest, TellsWhatWasKeptInWhateverOrderTheRecordsCome) {
  AddRun("s");
  AddBudget();
  const auto answer = check_.Verify();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->origin(), "reg/b");
  EXPECT_EQ(answer->size(), 3u);
  EXPECT_EQ(answer->grants(), 2u);
  EXPECT_NEAR(answer->spending().spent(), 1, 1e-11);
  ASSERT_EQ(answer->runs_size(), 1);
  EXPECT_EQ(answer->runs(0).origin(), "reg/s");
  EXPECT_NEAR(answer->runs(0).spending().spent(), .5, 1e-11);
  ASSERT_EQ(answer->missing_size(), 1);
  EXPECT_EQ(answer->missing(0), "reg/r");
}

TEST_F(BudgetCheckTest, FindsARunOfAnotherBudget) {
  AddBudget();
  AddRun("r", "budget: 'c'");
  ExpectInvalid("reg/r: is under the budget reg/c, not under reg/b");
}

TEST_F(BudgetCheckTest, FindsTermsThatAreNotTheBudgets) {
  AddBudget();
  AddRun("r", "budget: 'b' blocks { first: 1 last: 2 }");
  ExpectDiffers("reg/r", "declaration.blocks must be the budget's");
}

TEST_F(BudgetCheckTest, FindsGrantsOfOtherBlocksOrOfAnotherBudget) {
  const std::string blocks = " blocks { first: 1 last: 5 }";
  Begin("b", "kind: BUDGET block_assignment: 'region'");
  Add(absl::StrCat("grant { ", Grant("r"), blocks, " }"));
  AddRun("r", "budget: 'b' blocks { first: 1 last: 4 }");
  ExpectDiffers("reg/r", "is granted other blocks than it declares");

  check_ = BudgetCheck();
  Begin("c", "kind: BUDGET");
  Add(absl::StrCat("grant { ", Grant("r"), " }"));  // of b
  AddRun("r", "budget: 'c'");
  ExpectDiffers("reg/r", "its grant 1 is of another budget, b");
}

TEST_F(BudgetCheckTest, FindsAGrantThatTheBudgetDoesNotTellOf) {
  AddBudget();
  AddRun("r");
  AddRun("t");
  const auto answer = check_.Verify();
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(answer.status().message(),
            "reg/t: tells of 1 grants, and its budget of 0: the budget's bundle is the older one; "
            "export it again");
}

// What it has done since its last grant is not here: as a run that was not given at all. A sealed
// one is told of no grant.
TEST_F(BudgetCheckTest, MissesWhatAnOlderRecordDoesNotTell) {
  AddRun("r");
  AddRun("s");
  Add("seal {}");
  AddBudget();
  Add(absl::StrCat("grant { ", Grant("r"), " }"));
  Add(absl::StrCat("grant { ", Grant("s"), " }"));
  const auto answer = check_.Verify();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->runs_size(), 2);
  ASSERT_EQ(answer->missing_size(), 1);
  EXPECT_EQ(answer->missing(0), "reg/r");
  // To the brim is the bound, not a rounding above it.
  EXPECT_EQ(answer->spending().spent(), 1);
  EXPECT_NEAR(answer->runs(0).spending().granted(), .5, 1e-11);
}

TEST_F(BudgetCheckTest, FindsAGrantThatIsNotWhatTheBudgetSays) {
  AddBudget();
  Begin("r", "budget: 'b'");
  Add(absl::StrCat("granted { ", Grant("r", 2), " }"));
  ExpectDiffers("reg/r", "its grant 1 is not what the budget says");
}

TEST_F(BudgetCheckTest, FindsARunThatSpentMoreThanItWasGranted) {
  AddBudget();
  AddRun("r");
  Add(kEvent);
  EXPECT_EQ(ReasonOf(added_).reason, "BUDGET_EXCEEDED") << added_;
  Add(kEvent);  // nothing more is taken of it
  const auto answer = check_.Verify();
  EXPECT_EQ(ReasonOf(answer.status()).reason, "BUDGET_EXCEEDED");
  EXPECT_EQ(answer.status().message(), "reg/r: entry 3: 1 of 0.5, more than the run was granted");
}

// Its last grant takes away what the run has spent.
TEST_F(BudgetCheckTest, FindsABudgetThatSetsTooLittleAside) {
  AddBudget();
  Add("grant { budget: 'b' ledger: 'r' }");
  EXPECT_TRUE(added_.ok());
  AddRun("r");
  ExpectDiffers("reg/r", "has spent 0.5, and the budget grants it 0");
}

TEST_F(BudgetCheckTest, NeedsOneBudgetAndEachRecordOnce) {
  AddRun("r");
  ExpectInvalid("none of the ledgers is a budget");
  AddBudget();
  EXPECT_TRUE(check_.Verify().ok());
  AddBudget("c");
  ExpectInvalid("reg/b and reg/c: are two budgets");
}

TEST_F(BudgetCheckTest, TakesNoRecordWithoutEntries) {
  AddBudget();
  check_.Begin("reg/r", "reg");
  EXPECT_EQ(check_.Verify().status().message(), "reg/r: there are no entries");
}

TEST_F(BudgetCheckTest, TakesNoRecordTwice) {
  AddBudget();
  AddRun("r");
  AddRun("r");
  ExpectInvalid("reg/r: is given twice");
}

}  // namespace
}  // namespace dpledger::questions
