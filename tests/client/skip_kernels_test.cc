#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/internal/noise_kernels.h"
#include "client/poisson_sampler.h"
#include "tests/support/targets.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::OnEveryTarget;

using internal::GeometricSkip;
using internal::kSkipLanes;
using internal::kSkipLimit;
using internal::kUndecided;

constexpr double kProbabilities[] = {0x1p-60, 0x1p-40, 1e-8, 1e-5, 1e-4, 0.01, 0.3, 0.5, 0.9999};

// Words from everywhere: of all magnitudes, near 0, near the end at 1, and beside the powers of
// 1 - q, where a skip ends.
std::vector<uint64_t> Words(double q, size_t count) {
  std::mt19937_64 random(3);
  std::vector<uint64_t> words = {0,
                                 1,
                                 2,
                                 ~uint64_t{0},
                                 ~uint64_t{1},
                                 uint64_t{1} << 63,
                                 0xb504f333f9de6484,
                                 0xb504f333f9de6485};
  while (words.size() < count) {
    words.push_back(random());
    words.push_back(random() >> random() % 64);
    words.push_back(~(random() >> random() % 64));
    const double edge = std::exp(std::log1p(-q) * static_cast<double>(random() >> random() % 64));
    if (edge < 1) {
      const auto word = static_cast<uint64_t>(std::ldexp(edge, 64));
      words.push_back(word + random() % (1 << 12) - (1 << 11));
    }
  }
  words.resize(count / kSkipLanes * kSkipLanes);
  return words;
}

double Rate(double q) { return q < 0x1p-60 ? q : -std::log1p(-q); }

// Words, and their skips as MPFR decides them.
struct Decided {
  explicit Decided(double probability) : q(probability), words(Words(q, 4'000)) {
    const GeometricSkip skip(q);
    for (const uint64_t word : words) {
      // Bits that no decision of the kernel may hang on.
      skips.push_back(skip.Exact(
          kSkipLimit, [&](uint64_t level) { return level == 0 ? word : 0x5555555555555555; }));
    }
  }
  double q;
  std::vector<uint64_t> words, skips;
};

// What the kernel gets wrong first for a rate that is `rate_factor` times the right one.
std::string FirstWrong(const Decided& right, double rate_factor) {
  const std::vector<uint64_t>& words = right.words;
  std::vector<uint64_t> skips(words.size());
  const bool all = internal::GeometricSkips(words.data(), words.size(), Rate(right.q) * rate_factor,
                                            skips.data());
  EXPECT_EQ(all, std::count(skips.begin(), skips.end(), kUndecided) == 0);
  for (size_t i = 0; i < words.size(); ++i) {
    if (skips[i] == kUndecided || skips[i] == right.skips[i]) continue;
    return absl::StrCat("q ", right.q, ", word ", words[i], ": ", skips[i], " for ",
                        right.skips[i]);
  }
  return "";
}

TEST(SkipKernels, AgreeWithMpfrOnEveryTarget) {
  for (const double q : kProbabilities) {
    const Decided right(q);
    OnEveryTarget(
        [&](const std::string& target) { EXPECT_EQ(FirstWrong(right, 1), "") << target; });
  }
}

TEST(SkipKernels, ARateThatIsOffByOneInABillionIsNoticed) {
  EXPECT_THAT(FirstWrong(Decided(1e-4), 1 + 1e-9), ::testing::StartsWith("q "));
}

TEST(SkipKernels, DecideNearlyAllRandomWords) {
  std::mt19937_64 random(5);
  std::vector<uint64_t> words(1 << 18), skips(words.size());
  for (uint64_t& word : words) word = random();
  OnEveryTarget([&](const std::string& target) {
    for (const double q : {1e-8, 1e-5, 1e-4, 0.01, 0.3, 0.9999}) {
      internal::GeometricSkips(words.data(), words.size(), Rate(q), skips.data());
      EXPECT_LE(std::count(skips.begin(), skips.end(), kUndecided), 4) << target << ' ' << q;
    }
  });
}

// One over the rate is infinite, or nothing is left of 1 - q.
TEST(SkipKernels, LeaveTheEndsOfDoublePrecisionUndecided) {
  OnEveryTarget([](const std::string& target) {
    for (const double rate : {std::numeric_limits<double>::denorm_min(), 1e-310, 1e-100}) {
      const std::vector<uint64_t> words = {0,
                                           1,
                                           77,
                                           uint64_t{1} << 63,
                                           uint64_t{3} << 62,
                                           ~uint64_t{0},
                                           ~uint64_t{1},
                                           uint64_t{1} << 62};
      std::vector<uint64_t> skips(words.size());
      internal::GeometricSkips(words.data(), words.size(), rate, skips.data());
      for (const uint64_t skip : skips) {
        EXPECT_TRUE(skip == kUndecided || skip == kSkipLimit) << target << ' ' << rate;
      }
    }
  });
}

}  // namespace
}  // namespace dpledger::client
