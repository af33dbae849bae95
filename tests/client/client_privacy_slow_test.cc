// The sweeps of the certified samplers that take long.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "client/integer_clip.h"
#include "client/poisson_sampler.h"
#include "client/root_key.h"
#include "client/rounded_gaussian.h"

namespace dpledger::client {
namespace {

// x = (1, v, v, ...) with v^2 below half an ulp of 1: a sequential f32 norm stays 1.000, and
// "clipping" by it leaves a norm of 1.73 C.
TEST(IntegerClip, SeesWhatASequentialFloatNormLoses) {
  std::vector<float> x(size_t{1} << 25, 0x1.fep-13f);
  x[0] = 1;
  float sequential = 0;
  for (const float value : x) sequential += value * value;
  EXPECT_EQ(sequential, 1.0f);
  EXPECT_NEAR(std::sqrt(SquaredNorm(x)), 1.7275, 1e-4);

  constexpr int64_t kBound = int64_t{1} << 24;
  const auto clip = IntegerClip::Create(x.size(), 1.0, kBound);
  ASSERT_TRUE(clip.ok());
  std::vector<int32_t> q(x.size());
  clip->Clip(x, absl::MakeSpan(q));
  double norm_squared = 0;
  for (const int32_t value : q) norm_squared += double(value) * value;
  EXPECT_LE(norm_squared, double(kBound) * kBound);
  EXPECT_GT(norm_squared, double(kBound) * kBound * 0.999);
}

// A million random words, of which every fourth U1 is forced small and every fourth is forced near
// 1.
TEST(RoundedGaussian, FastPathAgreesWithMpfrOnAMillionWords) {
  const RoundedGaussian gaussian(int64_t{1} << 24);
  KeyStream key = RootKey::NonPrivateForTesting(7).Derive(KeyPurpose::kNoise, 100);
  std::vector<uint64_t> words(1'000'000);
  key.Words(0, 0, absl::MakeSpan(words));
  int64_t compared = 0;
  for (size_t i = 0; i < words.size(); i += 2) {
    uint64_t u1 = words[i];
    if (i % 8 == 0) u1 >>= u1 % 18;
    if (i % 8 == 2) u1 = ~(~u1 >> (u1 % 30));
    const auto fast = gaussian.FastPair(u1, words[i + 1]);
    if (!fast) continue;
    const auto exact = gaussian.ExactPair([&](uint64_t level) {
      return level == 0 ? std::array<uint64_t, 2>{u1, words[i + 1]}
                        : key.Block(StreamOf(level, 0), i / 2);
    });
    ASSERT_EQ(*fast, exact) << u1 << ' ' << words[i + 1];
    ++compared;
  }
  EXPECT_GT(compared, 480'000);
}

TEST(GeometricSkip, FastPathAgreesWithMpfr) {
  KeyStream key = RootKey::NonPrivateForTesting(7).Derive(KeyPurpose::kSampling, 100);
  std::vector<uint64_t> words(50'000);
  key.Words(0, 0, absl::MakeSpan(words));
  for (const double q : {0x1p-40, 1e-5, 0.01, 0.3, 0.9999}) {
    const internal::GeometricSkip skip(q);
    std::vector<uint64_t> many(words.size());
    skip.Many(words, many.data());
    for (size_t i = 0; i < words.size(); ++i) {
      const uint64_t u = i % 4 == 0 ? words[i] >> words[i] % 60 : words[i];
      const auto bits = [&](uint64_t level) {
        return level == 0 ? u : key.Block(StreamOf(level, 0), i / 2)[i % 2];
      };
      const uint64_t exact = skip.Exact(internal::kSamplingBlock, bits);
      ASSERT_EQ(skip(internal::kSamplingBlock, bits), exact) << u << " q " << q;
      if (u == words[i] && many[i] != internal::kUndecided) {
        ASSERT_EQ(many[i], exact) << u << " q " << q;
      }
    }
  }
}

}  // namespace
}  // namespace dpledger::client
