// What one question shares of its epochs: laws are made once, and serve only whom they fit.
#include "accountant/pld/epoch_laws.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "accountant/mechanism/outcome_parts.h"

namespace dpledger::accountant {
namespace {

using allocation::Rounds;
using pld::EpochLaws;

constexpr Rounds kEpoch{100, 1}, kOther{100, 1.01}, kShorter{100, 1, 3};

TEST(EpochLaws, ServesACoarserRequestByAFinerLawOfTheSameEpoch) {
  EpochLaws laws;
  const auto fine = *laws.Upper(kEpoch, 0.05, 1e-12, {});
  const double made = laws.work();
  EXPECT_GT(made, 0);
  EXPECT_EQ(*laws.Upper(kEpoch, 0.05, 1e-12, {}), fine);
  EXPECT_EQ(*laws.Upper(kEpoch, 0.1, 1e-10, {}), fine);
  EXPECT_EQ(laws.work(), made);
  // Of those that fit, the coarsest.
  EpochLaws both;
  const auto coarse = *both.Upper(kEpoch, 0.1, 1e-12, {});
  EXPECT_NE(*both.Upper(kEpoch, 0.05, 1e-12, {}), coarse);
  EXPECT_EQ(*both.Upper(kEpoch, 0.2, 1e-12, {}), coarse);
}

TEST(EpochLaws, MakesWhatIsNotThere) {
  EpochLaws laws;
  const auto law = *laws.Upper(kEpoch, 0.1, 1e-12, {});
  const auto is_new = [&](const auto& other) { return *other != law; };
  EXPECT_TRUE(is_new(laws.Upper(kOther, 0.1, 1e-12, {})));    // another noise
  EXPECT_TRUE(is_new(laws.Upper(kShorter, 0.1, 1e-12, {})));  // rounds that were not run
  EXPECT_TRUE(is_new(laws.Upper(kEpoch, 0.05, 1e-12, {})));   // a finer mesh
  EXPECT_TRUE(is_new(laws.Upper(kEpoch, 0.1, 1e-14, {})));    // a smaller tail
  EXPECT_TRUE(is_new(laws.Lower(kEpoch, 0.1, 1e-12, {})));    // the other side
}

TEST(EpochLaws, TellsValuesOfAProfileApart) {
  EpochLaws laws;
  const Rounds half{100, 0.5};
  const double nearer = laws.DeltaAbove(half, 0.1, 0.1, 1e-12, {})->delta;
  const double farther = laws.DeltaAbove(half, 0.2, 0.1, 1e-12, {})->delta;
  EXPECT_LT(farther, nearer);
  const double made = laws.work();
  EXPECT_EQ(laws.DeltaAbove(half, 0.1, 0.1, 1e-12, {})->delta, nearer);
  EXPECT_EQ(laws.DeltaAbove(half, 0.2, 0.2, 1e-12, {})->delta, farther);
  EXPECT_EQ(laws.work(), made);
  const auto below = laws.DeltaBelow(half, 0.1, 0.1, 1e-12, {});
  EXPECT_GT(laws.work(), made);
  EXPECT_LT(below->delta, nearer);
  EXPECT_GT(below->delta, 0.9 * nearer);
}

TEST(EpochLaws, KeepsNothingOfWhatFailed) {
  EpochLaws laws;
  Limits over;
  over.cancelled = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(laws.Upper(kEpoch, 0.1, 1e-12, over).status()));
  EXPECT_EQ(laws.work(), 0);
  EXPECT_TRUE(laws.Upper(kEpoch, 0.1, 1e-12, {}).ok());
}

TEST(OutcomeParts, AreMadeOnceWhoeverAsks) {
  const OutcomeParts parts(30, 2, 0.5);
  std::vector<const Pair*> seen(4);
  std::vector<std::thread> threads;
  for (const Pair*& one : seen) threads.emplace_back([&] { one = parts.pair(); });
  for (std::thread& thread : threads) thread.join();
  ASSERT_NE(seen[0], nullptr);
  for (const Pair* one : seen) EXPECT_EQ(one, seen[0]);
  double p = 0, q = 0;
  for (const Atom& atom : seen[0]->atoms) {
    p += atom.p;
    q += atom.q;
  }
  EXPECT_NEAR(p, 1, 1e-9);
  EXPECT_NEAR(q, 1, 1e-9);
}

TEST(OutcomeParts, SayNothingOfMoreContributionsThanAPartitionTakes) {
  EXPECT_EQ(OutcomeParts(100, 33, 0.5).pair(), nullptr);
}

}  // namespace
}  // namespace dpledger::accountant
