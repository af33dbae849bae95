// The sums of a rank and fixed batches by the C++ API. The rest of it is what the example trainers
// and preempted_trainer.cc train with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "dpledger/client.h"

namespace dpledger {
namespace {

using ::testing::ElementsAreArray;
using ::testing::Not;

// Clipped to 1, from norm 5.
constexpr float kRow[] = {3, 4};
constexpr GradientRows kRows = {kRow, 1};

std::unique_ptr<RankSum> NewSum() {
  PrivatizerOptions options;
  options.groups = {{"weights", 2, 1.0}};
  options.noise_multiplier = 1;
  auto sum = RankSum::Create(options);
  EXPECT_TRUE(sum.ok()) << sum.status();
  return *std::move(sum);
}

std::vector<int64_t> ValuesOf(const RankSum& sum) {
  const auto values = sum.Values();
  EXPECT_TRUE(values.ok()) << values.status();
  return {values->begin(), values->end()};
}

TEST(RankSum, AddsRowsAndOtherRanks) {
  const auto first = NewSum(), second = NewSum();
  EXPECT_EQ(first->dimension(), 2u);
  ASSERT_EQ(first->Accumulate(kRows), absl::OkStatus());
  const std::vector<int64_t> once = ValuesOf(*first);
  EXPECT_NEAR(static_cast<double>(once[0]) / static_cast<double>(once[1]), 0.75, 1e-5);
  ASSERT_EQ(second->Accumulate(kRows, {5.0}), absl::OkStatus());
  ASSERT_EQ(second->AddSums(once), absl::OkStatus());
  const std::vector<int64_t> twice = ValuesOf(*second);
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(twice[i], 2 * once[i], 2) << "a norm of one's own";
  EXPECT_EQ(second->AddSums({1}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(second->Accumulate(kRows, {5.0, 5.0}).code(), absl::StatusCode::kInvalidArgument);
}

TEST(RankSum, TakesAnotherClipNormOnceItIsClear) {
  const auto sum = NewSum();
  ASSERT_EQ(sum->Accumulate(kRows), absl::OkStatus());
  EXPECT_EQ(sum->SetClipNorm(2).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(ValuesOf(*sum), Not(ElementsAreArray({0, 0})));
  ASSERT_EQ(sum->Clear(), absl::OkStatus());
  EXPECT_THAT(ValuesOf(*sum), ElementsAreArray({0, 0}));
  EXPECT_EQ(sum->SetClipNorm(2), absl::OkStatus());
  EXPECT_EQ(sum->clip_norm(), 2);
}

TEST(CyclicBatch, TakesTurns) {
  const auto batch = CyclicBatch(10, 4, 5);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->begin, 2u);
  EXPECT_EQ(batch->end, 5u);
  EXPECT_EQ(CyclicBatch(10, 11, 5).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dpledger
