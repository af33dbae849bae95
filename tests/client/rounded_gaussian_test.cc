#include "client/rounded_gaussian.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "client/internal/noise_kernels.h"
#include "client/root_key.h"
#include "tests/client/noise_words.h"
#include "tests/client/oracle.h"
#include "tests/client/statistics.h"

namespace dpledger::client {
namespace {

constexpr int64_t kSigma = int64_t{1} << 24;

KeyStream TestKey(uint64_t step) {
  return RootKey::NonPrivateForTesting(7).Derive(KeyPurpose::kNoise, step);
}

std::vector<int64_t> Noise(KeyStream key, uint64_t part, size_t count, int64_t sigma = kSigma) {
  std::vector<int64_t> sums(count);
  RoundedGaussian(sigma).AddTo(key, part, absl::MakeSpan(sums));
  return sums;
}

TEST(RoundedGaussian, GivesTheSamplesOfTheFormat) {
  const auto oracle = LoadOracle();
  for (const auto& entry : ListAt(oracle.fields(), "noise")) {
    const JsonObject& noise = entry.struct_value().fields();
    const std::vector<int64_t> expected = IntegersAt(noise, "values");
    EXPECT_EQ(Noise(TestKey(NumberAt(noise, "step")), NumberAt(noise, "part"), expected.size()),
              expected);
  }
}

TEST(RoundedGaussian, DecidesForcedHardWordsAsTheOracleDoes) {
  const auto oracle = LoadOracle();
  const RoundedGaussian gaussian(kSigma);
  for (const auto& entry : ListAt(oracle.fields(), "pairs")) {
    const JsonObject& fields = entry.struct_value().fields();
    const std::vector<uint64_t> u1 = WordsAt(fields, "u1"), u2 = WordsAt(fields, "u2");
    const std::vector<int64_t> expected = IntegersAt(fields, "pair");
    EXPECT_EQ(FastPair(u1[0], u2[0], kSigma), std::nullopt) << u1[0] << ' ' << u2[0];
    const auto pair = gaussian.ExactPair([&](uint64_t level) {
      return std::array<uint64_t, 2>{u1.at(level), u2.at(level)};
    });
    EXPECT_EQ(pair[0], expected[0]);
    EXPECT_EQ(pair[1], expected[1]);
  }
}

// One pair in a few millions is decided by bits behind the first 64, even at the largest sigma:
// these were looked for.
TEST(RoundedGaussian, ReadsTheSecondWordsWhereTheFirstDoNotDecide) {
  const std::array<uint8_t, 32> bytes = {1, 2, 3};
  KeyStream key(Generator::kChaCha20, bytes);
  const RoundedGaussian gaussian(RoundedGaussian::kMaxSigma);
  for (const uint64_t pair : {265971u, 710896u, 1348773u, 1896197u}) {
    std::vector<int64_t> noise(2);
    gaussian.AddTo(key, /*part=*/0, 2 * pair, absl::MakeSpan(noise));
    const auto decided_by = [&](uint64_t second) {
      return gaussian.ExactPair([&](uint64_t level) {
        return key.Block(StreamOf(level == 1 ? second : level, 0), pair);
      });
    };
    const RoundedGaussian::Pair expected = decided_by(1), first_again = decided_by(0);
    EXPECT_EQ(noise, std::vector<int64_t>(expected.begin(), expected.end())) << pair;
    EXPECT_NE(expected, first_again) << pair;
  }
}

TEST(RoundedGaussian, AddsToWhatIsThere) {
  const std::vector<int64_t> noise = Noise(TestKey(0), 0, 5);
  std::vector<int64_t> sums = {10, -20, 30, -40, 50};
  KeyStream key = TestKey(0);
  RoundedGaussian(kSigma).AddTo(key, 0, absl::MakeSpan(sums));
  for (size_t i = 0; i < sums.size(); ++i) {
    EXPECT_EQ(sums[i] - noise[i], (i % 2 ? -10 : 10) * static_cast<int64_t>(i + 1));
  }
}

TEST(RoundedGaussian, SamplesDoNotDependOnTheLength) {
  const std::vector<int64_t> longer = Noise(TestKey(2), 1, 3001);
  for (const size_t count : {1u, 2u, 1023u, 1024u, 1025u, 2049u}) {
    const std::vector<int64_t> shorter = Noise(TestKey(2), 1, count);
    EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin())) << count;
  }
}

// A piece of 2^20 samples is one of decisions, too.
TEST(RoundedGaussian, SamplesDoNotDependOnHowThePartIsSplit) {
  constexpr size_t kCount = (1 << 20) + 5000;
  const std::vector<int64_t> whole = Noise(TestKey(2), 1, kCount);
  std::vector<int64_t> split(kCount);
  KeyStream key = TestKey(2);
  const RoundedGaussian gaussian(kSigma);
  size_t begin = 0;
  for (const size_t end : {1u, 2u, 7u, 1031u, 1032u, 2048u, 5001u}) {
    gaussian.AddTo(key, 1, begin, absl::MakeSpan(split).subspan(begin, end - begin));
    begin = end;
  }
  gaussian.AddTo(key, 1, begin, absl::MakeSpan(split).subspan(begin, 3));
  begin += 3;
  gaussian.AddTo(key, 1, begin, absl::MakeSpan(split).subspan(begin));
  EXPECT_EQ(split, whole);
  // An odd beginning of two pieces, whose border cuts a pair.
  std::vector<int64_t> odd(kCount - 1);
  gaussian.AddTo(key, 1, 1, absl::MakeSpan(odd));
  EXPECT_TRUE(std::equal(odd.begin(), odd.end(), whole.begin() + 1));
}

// At the greatest sigma one pair in twelve is left open by doubles.
TEST(RoundedGaussian, SamplesThatDoublesLeaveOpenDoNotDependOnHowThePartIsSplit) {
  constexpr int64_t sigma = RoundedGaussian::kMaxSigma;
  const std::vector<int64_t> whole = Noise(TestKey(3), 0, 3000, sigma);
  KeyStream key = TestKey(3);
  std::vector<int64_t> split(whole.size());
  for (size_t i = 0; i < split.size(); i += 3) {
    RoundedGaussian(sigma).AddTo(key, 0, i, absl::MakeSpan(split).subspan(i, 3));
  }
  EXPECT_EQ(split, whole);
  for (size_t i = 0; i < whole.size(); i += 2) {
    const auto exact = RoundedGaussian(sigma).ExactPair(
        [&](uint64_t level) { return key.Block(StreamOf(level, 0), i / 2); });
    ASSERT_EQ(whole[i], exact[0]) << i;
    ASSERT_EQ(whole[i + 1], exact[1]) << i;
  }
}

TEST(RoundedGaussian, ReleasesTheNoisedSumsOnTheGrid) {
  for (const int64_t sigma : {kSigma, RoundedGaussian::kMaxSigma}) {
    constexpr double kGrid = 0x1.3579bdf02468ap-24;
    constexpr size_t kCount = 2501, kFirst = 3;
    std::vector<int64_t> sums(kCount);
    for (size_t i = 0; i < kCount; ++i) sums[i] = static_cast<int64_t>(i * i * i) - 777777777;
    const std::vector<int64_t> before = sums;
    const RoundedGaussian gaussian(sigma);
    KeyStream key = TestKey(4);
    std::vector<float> released(kCount);
    gaussian.Release(key, 2, kFirst, sums, kGrid, absl::MakeSpan(released));
    EXPECT_EQ(sums, before);
    gaussian.AddTo(key, 2, kFirst, absl::MakeSpan(sums));
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(released[i], static_cast<float>(kGrid * static_cast<double>(sums[i]))) << i;
    }
  }
}

// As many evaluations as keep the chance of more below 2^-60; twice as many at most where it is a
// large number.
TEST(RoundedGaussian, DecidesAFixedNumberOfPairsTwice) {
  const RoundedGaussian usual(kSigma), greatest(RoundedGaussian::kMaxSigma);
  EXPECT_EQ(usual.SlowPairs(1 << 20), 28u);
  EXPECT_EQ(usual.SlowPairs(1000), 6u);
  EXPECT_EQ(usual.SlowPairs(1), 3u);
  const double mean = 0.5 * (1 << 20) * internal::OpenPairShare(RoundedGaussian::kMaxSigma);
  EXPECT_GT(static_cast<double>(greatest.SlowPairs(1 << 20)), mean);
  EXPECT_LT(static_cast<double>(greatest.SlowPairs(1 << 20)), 1.2 * mean);
}

TEST(RoundedGaussian, FastPathAgreesWithMpfr) {
  KeyStream key = TestKey(4);
  std::vector<uint64_t> words(2 * 4096);
  int64_t open = 0, compared = 0;
  for (const int64_t sigma : {int64_t{1}, kSigma, int64_t{1} << 32}) {
    const RoundedGaussian gaussian(sigma);
    key.Words(StreamOf(0, 0), static_cast<uint64_t>(sigma), absl::MakeSpan(words));
    for (size_t i = 0; i < words.size(); i += 2) {
      const auto fast = FastPair(words[i], words[i + 1], sigma);
      open += !fast;
      if (!fast) continue;
      // Any continuation must give the same; take the extreme ones.
      for (const uint64_t rest : {uint64_t{0}, ~uint64_t{0}}) {
        const auto exact = gaussian.ExactPair([&](uint64_t level) {
          return level == 0 ? std::array<uint64_t, 2>{words[i], words[i + 1]}
                            : std::array<uint64_t, 2>{rest, rest};
        });
        ASSERT_EQ(*fast, exact) << words[i] << ' ' << words[i + 1] << " sigma " << sigma;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 24000);
  EXPECT_LT(open, 40);
}

// On a coarse grid the distribution is seen value by value.
TEST(RoundedGaussian, OfSigmaTwoHasItsExactProbabilities) {
  constexpr size_t kCount = 1'000'000;
  std::vector<int64_t> counts(17);
  for (const int64_t sample : Noise(TestKey(6), 0, kCount, 2)) {
    ++counts[std::clamp<int64_t>(sample + 8, 0, 16)];
  }
  std::vector<double> expected(17);
  for (int bin = 0; bin < 17; ++bin) {
    const double low = bin == 0 ? 0 : NormalCdf((bin - 8.5) / 2);
    const double high = bin == 16 ? 1 : NormalCdf((bin - 7.5) / 2);
    expected[bin] = (high - low) * kCount;
  }
  EXPECT_LT(std::fabs(ChiSquareDeviate(counts, expected)), 5);
}

}  // namespace
}  // namespace dpledger::client
