// What forks cost: held against the same events given inline.
#include <gmock/gmock.h>

#include "tests/server/accounted_store.h"

namespace dpledger::server {
namespace {

using absl::StatusCode;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void Independent(v1::Declaration& declaration) { declaration.set_plan_independent(true); }

// A parent of 100 and 50 rounds, in its entries 1 and 2.
class ForkCostTest : public ::testing::Test {
 protected:
  void MakeParent(const std::function<void(v1::Declaration&)>& declare = nullptr) {
    rig_.Create("parent", declare);
    rig_.Append("parent", {RoundsEvent(100)});
    rig_.Append("parent", {RoundsEvent(50)});
  }
  std::string Rounds(uint64_t count) { return rig_.EpsilonOfEvents({RoundsEvent(count)}); }
  static std::vector<std::string> Warnings(const v1::ComputeEpsilonResponse& answer) {
    return {answer.details().warnings().begin(), answer.details().warnings().end()};
  }
  static std::vector<std::string> Assumptions(const v1::ComputeEpsilonResponse& answer) {
    return {answer.details().assumptions().begin(), answer.details().assumptions().end()};
  }

  AccountedStore rig_;
};

TEST_F(ForkCostTest, CostsItsPrefixAndItsOwn) {
  MakeParent();
  rig_.Fork("parent", 2, "child");
  EXPECT_EQ(rig_.EpsilonOf({"child"}), Rounds(100));
  rig_.Append("child", {RoundsEvent(30)});
  const v1::ComputeEpsilonResponse answer = rig_.Answer({"child"});
  EXPECT_EQ(AccountedStore::Text(answer.epsilon()), Rounds(130));
  // The controls: neither its own rounds alone, nor what the parent did after the fork.
  EXPECT_NE(Rounds(130), Rounds(30));
  EXPECT_NE(Rounds(130), Rounds(180));
  EXPECT_EQ(rig_.EpsilonOf({"parent"}), Rounds(150));

  EXPECT_EQ(answer.details().entries(), 4u);
  ASSERT_EQ(answer.details().ledgers_size(), 1);
  EXPECT_EQ(answer.details().ledgers(0).name(), LedgerName("child"));
  EXPECT_EQ(answer.details().ledgers(0).size(), 2u);
  EXPECT_EQ(answer.details().ledgers(0).root_hash(), merkle::ToBytes(rig_.RootOf("child", 2)));
  EXPECT_THAT(Assumptions(answer),
              Contains("projects/p/ledgers/child is a fork of projects/p/ledgers/parent at 2 "
                       "entries, which are part of this answer"));
  EXPECT_THAT(Warnings(answer),
              Contains("projects/p/ledgers/parent: went on after the 2 entries that are part of "
                       "this answer; what it released then is not in this answer"));
  EXPECT_THAT(Warnings(answer), Not(Contains(HasSubstr("other ledger"))));
}

TEST_F(ForkCostTest, ParentThatDidNotGoOnIsNotWarnedOf) {
  MakeParent();
  rig_.Fork("parent", 3, "child");  // only its FORK_NOTICE follows
  EXPECT_THAT(Warnings(rig_.Answer({"child"})), IsEmpty());
}

TEST_F(ForkCostTest, OfAForkCarriesBothPrefixes) {
  MakeParent();
  rig_.Fork("parent", 2, "child");
  rig_.Append("child", {RoundsEvent(30)});
  rig_.Append("child", {RoundsEvent(7)});
  rig_.Fork("child", 2, "grandchild");
  rig_.Append("grandchild", {RoundsEvent(5)});
  EXPECT_EQ(rig_.EpsilonOf({"grandchild"}), Rounds(135));
  // Up to a sequence of its own: the prefixes are there from entry 0 on.
  EXPECT_EQ(rig_.EpsilonOf({"grandchild"}, 1), Rounds(130));
  EXPECT_EQ(rig_.EpsilonOf({"child"}, 1), Rounds(100));
  EXPECT_EQ(rig_.Answer({"grandchild"}, 1).details().entries(), 5u);
}

TEST_F(ForkCostTest, SharedEntriesCountOnce) {
  MakeParent(Independent);
  rig_.Fork("parent", 2, "child");
  rig_.Append("child", {RoundsEvent(30)});
  rig_.Fork("parent", 3, "sibling");
  rig_.Append("sibling", {RoundsEvent(4)});
  EXPECT_EQ(rig_.EpsilonOf({"parent", "child"}), Rounds(180));
  EXPECT_EQ(rig_.EpsilonOf({"child", "parent"}), Rounds(180));
  // Of siblings, the longer prefix holds the shorter one.
  EXPECT_EQ(rig_.EpsilonOf({"child", "sibling"}), Rounds(184));
  EXPECT_EQ(rig_.EpsilonOf({"sibling", "child", "parent"}), Rounds(184));
  EXPECT_EQ(rig_.Answer({"child", "sibling"}).details().entries(), 7u);
  EXPECT_THAT(Warnings(rig_.Answer({"child", "sibling"})), IsEmpty());
}

TEST_F(ForkCostTest, TogetherWithItsParentHasAPlanIfBothAreIndependent) {
  MakeParent();
  rig_.Fork("parent", 2, "child");
  EXPECT_EQ(rig_.Answer({"parent", "child"}).details().regime(), v1::ODOMETER);
  EXPECT_EQ(rig_.Answer({"child"}).details().regime(), v1::FIXED_PLAN);
}

TEST_F(ForkCostTest, PrefixWithAnotherRootIsDamaged) {
  MakeParent();
  merkle::Hash wrong = rig_.RootOf("parent", 2);
  wrong[0] ^= 1;
  rig_.Fork("parent", {2, wrong}, "child");
  EXPECT_TRUE(IsError(rig_.Ask({"child"}).status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/parent: its first 2 entries do not have the root hash "
                      "that they must have"));
  EXPECT_EQ(rig_.EpsilonOf({"parent"}), Rounds(150));
}

// The same writer's name and round number, on both sides of the fork: two rounds, the second of
// them without a sample of its own.
TEST_F(ForkCostTest, OpenRoundsOfThePrefixAreClosed) {
  rig_.Create("parent");
  const v1::AppendBatchRequest round = RoundBatch(LedgerName("parent"), "w", "r", 7);
  rig_.Append(round);
  rig_.Fork("parent", 3, "child");
  v1::AppendBatchRequest more = Batch(LedgerName("child"), "w", "m");
  AddSumQuery(more, 7);
  rig_.Append(more);
  v1::Event unsampled = more.entries(0).event();
  unsampled.mutable_sum_query()->set_round(8);
  const std::vector<v1::Event> events = {round.entries(0).event(), round.entries(1).event()};
  EXPECT_EQ(rig_.EpsilonOf({"child"}), rig_.EpsilonOfEvents({events[0], events[1], unsampled}));
  // The control: both sums on one sample.
  EXPECT_NE(rig_.EpsilonOf({"child"}),
            rig_.EpsilonOfEvents({events[0], events[1], more.entries(0).event()}));
}

// Fixed bins are one draw for their writer, and a fork goes on with what its parent's has drawn.
TEST_F(ForkCostTest, FixedBinsOfTheForkAreItsParents) {
  const auto epochs = [](uint64_t count) {
    return accountant::FromText<v1::Event>(absl::StrCat(
        "rounds { scheme { random_allocation { rounds_per_epoch: 5 fixed_bins: true } }"
        " queries { l2_norm_bound: 1 noise_stddev: 1 } count: ",
        5 * count, " }"));
  };
  const auto append = [&](const std::string& ledger, const std::string& writer, uint64_t count) {
    v1::AppendBatchRequest batch = Batch(LedgerName(ledger), writer, ledger + writer);
    *batch.add_entries()->mutable_event() = epochs(count);
    rig_.Append(batch);
  };
  rig_.Create("parent", Independent);
  append("parent", "w", 3);
  rig_.Fork("parent", 2, "child");
  append("child", "w", 3);
  rig_.Fork("parent", 2, "sibling");
  append("sibling", "w", 1);
  const auto of = [&](const std::vector<std::string>& ledgers) {
    return rig_.Answer(ledgers).epsilon().upper();
  };
  const auto in_one = [&](const std::vector<v1::Event>& events) {
    rig_.Create(absl::StrCat("one", events.size()), Independent);
    rig_.Append(absl::StrCat("one", events.size()), events);
    return of({absl::StrCat("one", events.size())});
  };
  const double six = in_one(std::vector<v1::Event>(2, epochs(3)));
  EXPECT_NEAR(of({"child"}), six, 1e-12 * six);
  EXPECT_NEAR(of({"parent", "child"}), six, 1e-12 * six);
  EXPECT_NEAR(of({"child", "sibling"}), in_one({epochs(3), epochs(3), epochs(1)}), 1e-11);
  // The controls: another writer draws its own, and so does a ledger of another family.
  rig_.Fork("parent", 2, "other");
  append("other", "v", 3);
  rig_.Create("alone", Independent);
  append("alone", "w", 3);
  EXPECT_LT(of({"other"}), .95 * six);
  EXPECT_NEAR(of({"parent", "alone"}), of({"other"}), 1e-12 * six);
}

TEST_F(ForkCostTest, EpochOfThePrefixIsAnotherThanTheForks) {
  const auto batch = [](uint64_t round, uint64_t epoch) {
    return accountant::FromText<v1::Event>(absl::StrCat(
        "sampling { round: ", round,
        " scheme { random_allocation { rounds_per_epoch: 10 epoch: ", epoch, " } } }"));
  };
  const auto sum = [](uint64_t round) {
    return accountant::FromText<v1::Event>(absl::StrCat(
        "sum_query { round: ", round, " query { l2_norm_bound: 1 noise_stddev: 1 } }"));
  };
  rig_.Create("parent");
  rig_.Append("parent", {batch(0, 0), sum(0)});
  rig_.Fork("parent", 3, "child");
  rig_.Append("child", {batch(1, 0), sum(1)});
  EXPECT_EQ(rig_.EpsilonOf({"child"}),
            rig_.EpsilonOfEvents({batch(0, 0), sum(0), batch(1, 1), sum(1)}));
  EXPECT_NE(rig_.EpsilonOf({"child"}),
            rig_.EpsilonOfEvents({batch(0, 0), sum(0), batch(1, 0), sum(1)}));
}

TEST_F(ForkCostTest, PlanCountsThePrefix) {
  MakeParent();
  const merkle::Hash root = rig_.RootOf("parent", 2);
  rig_.Fork("parent", {2, root}, "child",
            [](v1::Declaration& declaration) { declaration.set_planned_rounds(200); });
  rig_.Append("child", {RoundsEvent(30)});
  const v1::ComputeEpsilonResponse answer = rig_.Answer({"child"});
  EXPECT_EQ(AccountedStore::Text(answer.epsilon()), Rounds(130));
  EXPECT_EQ(AccountedStore::Text(answer.planned_epsilon()), Rounds(200));
  EXPECT_THAT(Warnings(answer), Contains(HasSubstr("has 130 of 200 planned rounds")));
}

TEST_F(ForkCostTest, PrefixIsSpentOfTheFilter) {
  const auto adaptive = [](v1::Declaration& declaration) {
    declaration.set_parameters(v1::ADAPTIVE);
    declaration.mutable_filter()->mutable_zcdp()->set_rho(2);
  };
  const auto spends = [](double rho) {
    return accountant::FromText<v1::Event>(absl::StrCat("mechanism { zcdp { rho: ", rho, " } }"));
  };
  rig_.Create("parent", adaptive);
  rig_.Append("parent", {spends(1)});
  rig_.Append("parent", {spends(0.5)});
  rig_.Fork("parent", 2, "child");
  rig_.Append("child", {spends(0.75)});
  rig_.Create("apart", adaptive);

  const v1::ComputeEpsilonResponse alone = rig_.Answer({"child"});
  ASSERT_EQ(alone.details().filter_spending_size(), 1);
  EXPECT_NEAR(alone.details().filter_spending(0).spent(), 1.75, 1e-12);
  EXPECT_EQ(AccountedStore::Text(alone.epsilon()), rig_.EpsilonOf({"apart"}));
  // Together the bounds add up, as those of ledgers that share nothing do.
  const v1::ComputeEpsilonResponse both = rig_.Answer({"parent", "child"});
  ASSERT_EQ(both.details().filter_spending_size(), 2);
  EXPECT_NEAR(both.details().filter_spending(0).spent(), 1.5, 1e-12);
  EXPECT_NEAR(both.details().filter_spending(1).spent(), 1.75, 1e-12);
  EXPECT_EQ(AccountedStore::Text(both.epsilon()), rig_.EpsilonOf({"parent", "apart"}));

  // 0.5 more cross it only with the prefix.
  rig_.Append("child", {spends(0.5)});
  EXPECT_TRUE(IsError(rig_.Ask({"child"}).status(), StatusCode::kFailedPrecondition,
                      "FILTER_CROSSED",
                      "projects/p/ledgers/child: its filter rho (zcdp) is crossed"));
  EXPECT_TRUE(rig_.Ask({"parent"}).ok());
}

TEST_F(ForkCostTest, SpooledEventsOfAnAncestorAreWarnedOf) {
  MakeParent([](v1::Declaration& declaration) { declaration.set_spool_policy(v1::SPOOL); });
  rig_.Fork("parent", 2, "child");
  EXPECT_THAT(Warnings(rig_.Answer({"child"})),
              Contains(HasSubstr("projects/p/ledgers/parent: this answer may be short: writer "
                                 "\"w\": its policy is SPOOL")));
}

// Its first sentence was as if nothing were wrong with the entries that it carries on from.
TEST_F(ForkCostTest, IsCorrectedWhereItsParentIs) {
  MakeParent();
  v1::AppendBatchRequest correction = Batch(LedgerName("parent"), "w", "correction");
  v1::NewEntry& entry = *correction.add_entries();
  entry.mutable_correction()->set_text("sigma was 0.3");
  entry.mutable_correction()->set_corrected_sequence(1);
  rig_.Append(correction);
  rig_.Fork("parent", 4, "child");
  rig_.Fork("parent", 3, "before");
  const v1::ComputeEpsilonResponse answer = rig_.Answer({"child"});
  ASSERT_EQ(answer.details().ledgers(0).corrections_size(), 1);
  const v1::CorrectionNote& note = answer.details().ledgers(0).corrections(0);
  EXPECT_EQ(note.text(), "in projects/p/ledgers/parent: sigma was 0.3");
  EXPECT_EQ(note.corrected_sequence(), 1u);
  EXPECT_THAT(answer.details().guarantee(), HasSubstr("The record is corrected: "));
  // The control: at three entries the correction was not there.
  EXPECT_THAT(rig_.Answer({"before"}).details().guarantee(), Not(HasSubstr("is corrected")));
}

TEST_F(ForkCostTest, AreReadAHundredDeep) {
  rig_.Create("f0");
  rig_.Append("f0", {RoundsEvent(100)});
  const auto name = [](int i) { return absl::StrCat("f", i); };
  for (int i = 1; i <= 101; ++i) rig_.Fork(name(i - 1), i == 1 ? 2 : 1, name(i));
  EXPECT_EQ(rig_.EpsilonOf({name(100)}), Rounds(100));
  EXPECT_TRUE(IsError(rig_.Ask({name(101)}).status(), StatusCode::kFailedPrecondition,
                      "FORKS_TOO_DEEP", "a fork of a fork more than 100 deep"));
}

TEST_F(ForkCostTest, PrefixIsReadOnceWhileItsParentGrows) {
  MakeParent();
  rig_.Fork("parent", 2, "child");
  rig_.Answer({"parent"});
  rig_.Answer({"child"});
  rig_.Append("parent", {RoundsEvent(1)});
  rig_.Answer({"parent"});
  rig_.Append("child", {RoundsEvent(1)});
  const uint64_t before = rig_.watch().entries_read;
  EXPECT_EQ(rig_.EpsilonOf({"child"}), Rounds(101));
  // Its own new entry, and the parent's three after the prefix, to see whether it went on.
  EXPECT_EQ(rig_.watch().entries_read - before, 4u);
}

// Entries that release nothing, in every ledger.
TEST_F(ForkCostTest, CorrectionsNotesAndResumesCostNothingAndTakeNothingBack) {
  MakeParent();
  v1::AppendBatchRequest batch = Batch(LedgerName("parent"), "w", "talk");
  AddNote(batch, "a note");
  batch.add_entries()->mutable_resume()->set_reason("power cut");
  batch.add_entries()->mutable_correction()->set_corrected_sequence(1);
  batch.mutable_entries(2)->mutable_correction()->set_text("these rounds never ran");
  rig_.Append(batch);
  EXPECT_EQ(rig_.EpsilonOf({"parent"}), Rounds(150));
  v1::SealLedgerRequest seal = SealRequest(LedgerName("parent"));
  seal.add_missing_writers("w");
  AccountedStore::Must(rig_.store().Seal(seal));
  EXPECT_EQ(rig_.EpsilonOf({"parent"}), Rounds(150));
}

}  // namespace
}  // namespace dpledger::server
