// The sums of a rank and fixed batches by the C++ API. The rest of it is what the example trainers
// and preempted_trainer.cc train with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dpledger/client.h"
#include "tests/support/targets.h"

namespace dpledger {
namespace {

using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::Gt;
using ::testing::Not;

// Clipped to 1, from norm 5.
constexpr float kRow[] = {3, 4};
constexpr GradientRows kRows = {kRow, 1};

ClippedSum NewSum() {
  PrivatizerOptions options;
  options.groups = {{"weights", 2, 1.0}};
  options.noise_multiplier = 1;
  auto sum = ClippedSum::Create(options);
  EXPECT_TRUE(sum.ok()) << sum.status();
  return *std::move(sum);
}

std::vector<int64_t> ValuesOf(const ClippedSum& sum) {
  return {sum.sums().begin(), sum.sums().end()};
}

TEST(ClippedSum, AddsRowsAndOtherRanks) {
  ClippedSum first = NewSum(), second = NewSum();
  EXPECT_EQ(first.dimension(), 2u);
  ASSERT_EQ(first.Accumulate(kRows), absl::OkStatus());
  const std::vector<int64_t> once = ValuesOf(first);
  EXPECT_NEAR(static_cast<double>(once[0]) / static_cast<double>(once[1]), 0.75, 1e-5);
  ASSERT_EQ(second.Accumulate(kRows, {5.0}), absl::OkStatus());
  ASSERT_EQ(second.AddSums(once, 1), absl::OkStatus());
  EXPECT_EQ(second.rows(), 2u);
  const std::vector<int64_t> twice = ValuesOf(second);
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(twice[i], 2 * once[i], 2) << "a norm of one's own";
  EXPECT_EQ(second.AddSums({1}, 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(second.Accumulate(kRows, {5.0, 5.0}).code(), absl::StatusCode::kInvalidArgument);
}

TEST(ClippedSum, TakesAnotherClipNormOnceItIsClear) {
  ClippedSum sum = NewSum();
  ASSERT_EQ(sum.Accumulate(kRows), absl::OkStatus());
  EXPECT_EQ(sum.SetClipNorm(2).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(ValuesOf(sum), Not(ElementsAreArray({0, 0})));
  sum.Clear();
  EXPECT_THAT(ValuesOf(sum), ElementsAreArray({0, 0}));
  EXPECT_EQ(sum.SetClipNorm(2), absl::OkStatus());
  EXPECT_EQ(sum.clip_norm(), 2);
}

// HWY_STATIC_TARGET is
// what every processor of this architecture has (on x86-64 SSE2): there it stands for a machine
// with nothing newer.
TEST(ClippedSum, SumsTheSameIntegersOnEveryInstructionSet) {
  constexpr size_t kRowCount = 37, kDimension = 1003;
  std::vector<float> rows(kRowCount * kDimension);
  uint32_t word = 1;
  for (float& value : rows) {
    word = word * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<int32_t>(word)) * 0x1p-35f;
  }
  PrivatizerOptions options;
  options.groups = {{"weights", kDimension, 1.0}};
  options.noise_multiplier = 1;
  const auto sums = [&] {
    auto sum = ClippedSum::Create(options);
    EXPECT_TRUE(sum.ok()) << sum.status();
    EXPECT_EQ(sum->Accumulate(rows), absl::OkStatus());
    return ValuesOf(*sum);
  };
  const std::vector<int64_t> expected = sums();
  EXPECT_THAT(expected, Contains(Gt(1 << 20)));
  const auto check = [&](const std::string& target) {
    ASSERT_FALSE(hwy::GetChosenTarget().IsInitialized()) << target;
    EXPECT_TRUE(sums() == expected) << target;  // a thousand numbers are not for reading
    EXPECT_TRUE(hwy::GetChosenTarget().IsInitialized()) << "the library has not looked: " << target;
  };
  testing::OnEveryTarget(check);
  const testing::OnlyTargets oldest(HWY_STATIC_TARGET);
  check("the oldest");
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
