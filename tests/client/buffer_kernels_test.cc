#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "absl/numeric/int128.h"
#include "client/internal/buffer_plan.h"
#include "hwy/targets.h"

namespace dpledger::client::internal {
namespace {

constexpr int64_t kMostSum = int64_t{1} << 36;

int64_t Floor(int64_t value, uint32_t factor, int shift) {
  return static_cast<int64_t>((absl::int128(value) * factor) >> shift);
}

struct State {
  std::vector<std::vector<int64_t>> buffers;
  std::vector<int64_t> message;
  bool operator==(const State&) const = default;
};

// 2^10 units a sum, 3 guard bits.
State ByKernel(State state, const std::vector<BufferPlan::Buffer>& plan,
               const std::vector<int64_t>& sums) {
  std::vector<BufferOfSums> buffers;
  for (size_t b = 0; b < plan.size(); ++b) buffers.push_back({plan[b], state.buffers[b].data()});
  EncodeBuffers(buffers.data(), buffers.size(), sums.size(), sums.data(), state.message.data());
  return state;
}

State ByPlainIntegers(State state, const std::vector<BufferPlan::Buffer>& plan,
                      const std::vector<int64_t>& sums) {
  for (size_t i = 0; i < sums.size(); ++i) {
    const int64_t sum = std::clamp(sums[i], -kMostSum, kMostSum);
    int64_t past = 0;
    for (size_t b = 0; b < plan.size(); ++b) {
      int64_t& value = state.buffers[b][i];
      past += Floor(value, plan[b].weight, plan[b].fraction_bits + 3);
      value = Floor(value, plan[b].decay, 16) + sum * (int64_t{1} << plan[b].fraction_bits);
    }
    state.message[i] = static_cast<int64_t>(static_cast<uint64_t>(state.message[i]) +
                                            static_cast<uint64_t>(sum * 1024 + (past >> 3)));
  }
  return state;
}

TEST(BufferKernels, GiveThePlainIntegersOnEveryTarget) {
  std::mt19937_64 random(1);
  const auto draw = [&](size_t size, int bits) {
    std::vector<int64_t> values(size);
    for (int64_t& value : values) value = static_cast<int64_t>(random()) >> (64 - bits);
    return values;
  };
  const std::vector<BufferPlan::Buffer> all = {
      {65536, 0, 26}, {1, 65528, 13}, {20000, 65000, 19}, {0, 32768, 25}};
  int targets = 0;
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1, ++targets) {
    hwy::SetSupportedTargetsForTest(left & -left);
    for (size_t count = 0; count <= all.size(); ++count) {
      const std::vector<BufferPlan::Buffer> plan(all.begin(),
                                                 all.begin() + static_cast<int>(count));
      for (const size_t size : {1, 7, 8, 9, 40}) {
        // The last kind of sums is cut.
        for (const int bits : {10, 36, 64}) {
          State state{{}, draw(size, 64)};
          for (const BufferPlan::Buffer& buffer : plan) {
            // What 62 bits, less what the new sum adds, leave.
            state.buffers.push_back(draw(size, buffer.fraction_bits + 36));
          }
          const std::vector<int64_t> sums = draw(size, bits);
          EXPECT_TRUE(ByKernel(state, plan, sums) == ByPlainIntegers(state, plan, sums))
              << hwy::TargetName(left & -left) << ", " << count << " buffers, size " << size;
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_GE(targets, 1);
}

}  // namespace
}  // namespace dpledger::client::internal
