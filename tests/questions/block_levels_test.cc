// A step function over blocks, beside an array that has each block by itself.
#include "questions/block_levels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace dpledger::questions {
namespace {

using accountant::filter::Tally;

constexpr uint32_t kBlocks = 40;

Tally Of(double first, double second) {
  Tally tally(2);
  tally.Add({first, second}, 1);
  return tally;
}

TEST(BlockLevels, AreThoseOfEachBlockByItself) {
  std::mt19937_64 random(20261127);
  BlockLevels levels(2, kBlocks);
  std::vector<Tally> each(kBlocks + 1, Tally(2));
  std::vector<std::pair<std::vector<Blocks>, Tally>> added;
  for (int step = 0; step < 400; ++step) {
    if (!added.empty() && random() % 3 == 0) {
      std::swap(added[random() % added.size()], added.back());
      const auto& [blocks, sum] = added.back();
      levels.Remove(blocks, sum);
      for (const Blocks& range : blocks) {
        for (uint32_t b = range.first; b <= range.last; ++b) each[b].Remove(sum);
      }
      added.pop_back();
    } else {
      std::vector<Blocks> blocks;
      for (uint32_t b = 1 + random() % 5; b <= kBlocks && blocks.size() < 3;) {
        blocks.push_back({b, std::min<uint32_t>(kBlocks, b + random() % 12)});
        b = blocks.back().last + 2 + random() % 9;
      }
      const Tally sum = Of(static_cast<double>(random() % 8), static_cast<double>(random() % 8));
      levels.Add(blocks, sum);
      for (const Blocks& range : blocks) {
        for (uint32_t b = range.first; b <= range.last; ++b) each[b].Add(sum);
      }
      added.emplace_back(blocks, sum);
    }
    uint32_t next = 1;
    levels.ForEach([&](const Blocks& blocks, const Tally& sum) {
      EXPECT_EQ(blocks.first, next);
      for (; next <= blocks.last; ++next) EXPECT_EQ(sum.Total(), each[next].Total()) << next;
    });
    EXPECT_EQ(next, kBlocks + 1);
    // The first that fails among some, and what covers them.
    const std::vector<Blocks> some = {{3, 9}, {17, 30}};
    const double bound = static_cast<double>(random() % 40);
    const auto holds = [&](const Tally& sum) { return sum.Total()[0] + sum.Total()[1] <= bound; };
    std::optional<uint32_t> first;
    const std::vector<Tally> greatest = levels.Greatest(some);
    for (const Blocks& range : some) {
      for (uint32_t b = range.first; b <= range.last; ++b) {
        if (!first.has_value() && !holds(each[b])) first = b;
        EXPECT_TRUE(std::any_of(greatest.begin(), greatest.end(),
                                [&](const Tally& most) { return each[b].Within(most); }));
      }
    }
    EXPECT_EQ(levels.FirstThatFails(some, holds), first);
  }
  EXPECT_GT(added.size(), 20u);
}

TEST(BlockLevels, GreatestAreLevelsUnlessThereAreMany) {
  BlockLevels levels(2, 100);
  levels.Add({{1, 10}}, Of(1, 5));
  levels.Add({{5, 20}}, Of(2, 0));
  const auto few = levels.Greatest({{1, 100}});
  ASSERT_EQ(few.size(), 1u);  // 5 to 10: (3, 5) covers the others
  EXPECT_NEAR(few[0].Total()[0], 3, 1e-12);
  BlockLevels many(2, 100);
  for (uint32_t b = 1; b <= 100; ++b) many.Add({{b, b}}, Of(b, 100 - b));
  EXPECT_EQ(many.Greatest({{1, 100}}).size(), 16u);
}

}  // namespace
}  // namespace dpledger::questions
