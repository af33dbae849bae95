// What a question takes of its limits, and that all it is answered by share them.
#include <gtest/gtest.h>

#include "accountant/accountant.h"
#include "accountant/between.h"
#include "accountant/pld/pld.h"
#include "accountant/rdp/rdp.h"

namespace dpledger::accountant {
namespace {

constexpr double kDelta = 1e-12, kGap = 1e-4;

// Known by bounds that stay apart, and more than the loss grid can take: a question about it asks
// about a composition above it and one below it, and each would take all that it may.
Composition Loose() {
  History history;
  history.Add("w", Mechanism{47278, PermuteAndFlip{1.8297771705810433}});
  history.Add("w", Mechanism{10231, PermuteAndFlip{0.34588046645485376}});
  history.Add("w", Mechanism{263066, Laplace{8.353924722395034}});
  return *Resolve(history, Adjacency::kAddOrRemoveOne);
}

pld::Bounds ByPld(const Composition& composition, double most_work) {
  Limits limits;
  limits.max_grid_work = most_work;
  return *pld::Epsilon(composition, kDelta, kGap, limits);
}

TEST(Budget, OfOneCompositionIsKept) {
  const Composition above = *Above(Loose(), kDelta, {});
  for (const double most : {3e7, 1e8, 3e8}) {
    const pld::Bounds bounds = ByPld(above, most);
    EXPECT_GT(bounds.work, 0.1 * most);
    EXPECT_LT(bounds.work, 1.2 * most);
  }
}

// Three fifths are for the bound above, and what it leaves for the one below.
TEST(Budget, IsSharedByWhatIsAboveAndBelow) {
  constexpr double kMost = 1e8;
  const Composition loose = Loose();
  const pld::Bounds above = ByPld(*Above(loose, kDelta, {}), 0.6 * kMost);
  const double order = rdp::EpsilonFromCurve(rdp::CurveOf(loose), kDelta, {})->order;
  const pld::Bounds below = ByPld(Below(loose, order).dominated, kMost - above.work);
  Options options{Method::kPld, kGap, {}};
  options.limits.max_grid_work = kMost;
  const Interval found = ComputeEpsilon(loose, kDelta, options)->value;
  EXPECT_EQ(found.upper(), above.value.upper());
  EXPECT_EQ(found.lower(), below.value.lower());
  EXPECT_LT(above.work + below.work, 1.1 * kMost);
  // With a budget of its own, it would say more.
  EXPECT_LT(ByPld(*Above(loose, kDelta, {}), kMost).value.upper(), found.upper());
}

// A random allocation asks for a mesh so fine that noise with large losses beside it has more
// points than the question has work for: no grid holds both, and below one holds the noise alone.
TEST(Budget, WhatNoGridHoldsIsLeftOutBelow) {
  History history;
  history.Add("w", RoundsEvent{{{0, RandomAllocation{10000, 1}}, {{"", 1.0, 20}}}, 10000});
  for (const double z : {0.002, 0.0022, 0.0025, 0.003}) history.Add("w", Mechanism{1, Laplace{z}});
  history.Add("w", Mechanism{1, PermuteAndFlip{1}});
  const Composition composition = *Resolve(history, Adjacency::kAddOrRemoveOne);
  const Composition below = Below(composition, 2).dominated;
  ASSERT_FALSE(below.allocations.empty());
  const pld::Bounds out_of_reach = ByPld(below, 2e7);
  EXPECT_FALSE(out_of_reach.gridded);
  EXPECT_EQ(out_of_reach.work, 0);
  EXPECT_TRUE(ByPld(below, 1.1e9).gridded);
  Options options{Method::kPld, kGap, {}};
  options.limits.max_grid_work = 2e7;
  const auto answer = ComputeEpsilon(composition, kDelta, options);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_GT(answer->value.lower(), 1600);
}

}  // namespace
}  // namespace dpledger::accountant
