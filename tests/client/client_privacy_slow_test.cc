// The sweeps of the certified samplers that take long.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "absl/numeric/int128.h"
#include "client/internal/workers.h"
#include "client/poisson_sampler.h"
#include "client/root_key.h"
#include "client/rounded_gaussian.h"
#include "tests/client/noise_words.h"
#include "tests/client/plain_clip.h"
#include "tests/support/sampled_cases.h"

namespace dpledger::client {
namespace {

constexpr size_t kLarge = size_t{1} << 25;

float SequentialNorm(const std::vector<float>& x) {
  float square = 0;
  for (const float value : x) square += value * value;
  return std::sqrt(square);
}

float LanesNorm(const std::vector<float>& x) {
  std::vector<float> lanes(64);
  for (size_t i = 0; i < x.size(); ++i) lanes[i % 64] += x[i] * x[i];
  double square = 0;
  for (const float lane : lanes) square += lane;
  return static_cast<float>(std::sqrt(square));
}

double TrueNorm(const std::vector<float>& x) {
  long double square = 0;
  for (const float value : x) square += static_cast<long double>(value) * value;
  return static_cast<double>(std::sqrt(square));
}

// The integer norm, in 128 bits, is within K and near it, by one thread and by three.
void ExpectClippedToTheBound(const std::vector<float>& x) {
  constexpr int64_t kBound = int64_t{1} << 24;
  const auto clip = OnePart(x.size(), 0.5, kBound);
  ASSERT_TRUE(clip.ok());
  const auto three = internal::Workers::Create(3);
  ASSERT_TRUE(three.ok());
  for (internal::Workers* workers : {static_cast<internal::Workers*>(nullptr), three->get()}) {
    std::vector<int64_t> q(x.size());
    clip->AddClipped({x.data(), 1, x.size()}, absl::MakeSpan(q), {}, workers);
    absl::uint128 square = 0;
    for (const int64_t value : q) square += static_cast<uint64_t>(value * value);
    EXPECT_LE(square, absl::uint128(uint64_t{1} << 48));
    EXPECT_GT(square, absl::uint128((uint64_t{1} << 48) / 1000 * 999));
  }
}

// x = (1, v, v, ...) with v^2 below half an ulp of 1: a sequential f32 norm stays 1.000, and
// "clipping" by it leaves a norm of 1.73 C.
TEST(IntegerClip, SeesWhatASequentialFloatNormLoses) {
  std::vector<float> x(kLarge, 0x1.fep-13f);
  x[0] = 1;
  EXPECT_EQ(SequentialNorm(x), 1.0f);
  EXPECT_NEAR(FoundNorm(x), 1.7275, 1e-4);
  ExpectClippedToTheBound(x);
}

// The same beside 64 ones, one in each lane of a vector norm: 1.015 C, and 1.39 C from 1e9 on.
TEST(IntegerClip, SeesWhatAFloatNormInLanesLoses) {
  std::vector<float> x(kLarge, 0x1.fep-13f);
  std::fill_n(x.begin(), 64, 1.0f);
  EXPECT_EQ(LanesNorm(x), 8.0f);
  EXPECT_GT(TrueNorm(x) / LanesNorm(x), 1.015);
  EXPECT_NEAR(FoundNorm(x) / TrueNorm(x), 1, 1e-9);
  ExpectClippedToTheBound(x);
}

// Nothing was crafted here: values as a normal distribution has them.
TEST(IntegerClip, SeesWhatASequentialFloatNormLosesOfBenignData) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(0, 1e-3f);
  std::vector<float> x(kLarge);
  for (float& value : x) value = normal(random);
  EXPECT_GT(TrueNorm(x) / SequentialNorm(x), 1.01);
  EXPECT_NEAR(FoundNorm(x) / TrueNorm(x), 1, 1e-9);
  ExpectClippedToTheBound(x);
}

// A million random words, of which every fourth U1 is forced small and every fourth is forced near
// 1; ./test takes a tenth of the pairs. (tests/client/long compares a thousand times as many with
// integers.)
TEST(RoundedGaussian, FastPathAgreesWithMpfrOnAMillionWords) {
  testing::SampledCases sampled(10);
  constexpr int64_t kSigma = int64_t{1} << 24;
  const RoundedGaussian gaussian(kSigma);
  KeyStream key = RootKey::NonPrivateForTesting(7).Derive(KeyPurpose::kNoise, 100);
  std::vector<uint64_t> words(1'000'000);
  key.Words(0, 0, absl::MakeSpan(words));
  int64_t compared = 0;
  for (size_t i = 0; i < words.size(); i += 2) {
    if (!sampled.Next()) continue;
    uint64_t u1 = words[i];
    if (i % 8 == 0) u1 >>= u1 % 18;
    if (i % 8 == 2) u1 = ~(~u1 >> (u1 % 30));
    const auto fast = FastPair(u1, words[i + 1], kSigma);
    if (!fast) continue;
    const auto exact = gaussian.ExactPair([&](uint64_t level) {
      return level == 0 ? std::array<uint64_t, 2>{u1, words[i + 1]}
                        : key.Block(StreamOf(level, 0), i / 2);
    });
    ASSERT_EQ(*fast, exact) << u1 << ' ' << words[i + 1];
    ++compared;
  }
  EXPECT_GT(compared, static_cast<int64_t>(470'000 / sampled.one_in()));
}

TEST(GeometricSkip, FastPathAgreesWithMpfr) {
  KeyStream key = RootKey::NonPrivateForTesting(7).Derive(KeyPurpose::kSampling, 100);
  std::vector<uint64_t> words(50'000);
  key.Words(0, 0, absl::MakeSpan(words));
  for (size_t i = 0; i < words.size(); i += 4) words[i] >>= words[i] % 60;
  for (const double q : {0x1p-40, 1e-5, 0.01, 0.3, 0.9999}) {
    const internal::GeometricSkip skip(q);
    std::vector<uint64_t> many(words.size());
    skip.Many(words, many.data());
    for (size_t i = 0; i < words.size(); ++i) {
      const uint64_t u = words[i];
      const auto bits = [&](uint64_t level) {
        return level == 0 ? u : key.Block(StreamOf(level, 0), i / 2)[i % 2];
      };
      const uint64_t exact = skip.Exact(internal::kSamplingBlock, bits);
      if (many[i] != internal::kUndecided) {
        ASSERT_EQ(many[i], exact) << u << " q " << q;
      }
    }
  }
}

}  // namespace
}  // namespace dpledger::client
