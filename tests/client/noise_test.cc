// Exact noise in bulk: the fast path against the slow one, and the statistics of samples.
// DPLEDGER_NOISE_ROUNDS=100 is the long form: 1e9 words and 3.4e9 samples (tests/client/long).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "client/root_key.h"
#include "client/rounded_gaussian.h"
#include "tests/client/noise_words.h"
#include "tests/client/statistics.h"

namespace dpledger::client {
namespace {

constexpr int64_t kSigma = int64_t{1} << 24;

uint64_t Rounds() {
  const char* rounds = std::getenv("DPLEDGER_NOISE_ROUNDS");
  uint64_t count = 1;
  if (rounds != nullptr) {
    EXPECT_TRUE(absl::SimpleAtoi(rounds, &count));
  }
  return count;
}

// A quarter of the pairs at the lower and a quarter at the upper end of the fast range.
TEST(ExactNoise, OfTheFastPathIsThatOfTheSlowOneOnTenMillionWords) {
  constexpr size_t kPairs = 8192, kPieces = 611;
  const uint64_t rounds = Rounds();
  Comparison total;
  for (uint64_t piece = 0; piece < rounds * kPieces; ++piece) {
    const Comparison result =
        CompareWithIntegers(RoundPairs, HardWords(kPairs, piece), kSigma, /*extremes=*/false);
    total.decided += result.decided;
    total.open += result.open;
    total.wrong += result.wrong;
  }
  std::printf("%zu pairs decided, %zu open, %zu wrong\n", total.decided, total.open, total.wrong);
  EXPECT_EQ(total.wrong, 0u);
  EXPECT_GT(total.decided, rounds * kPieces * kPairs * 4 / 5);
  EXPECT_GT(total.open, rounds * kPieces * kPairs / 100);
}

// Sums over samples in units of sigma, and counts, as deviates of their standard deviation.
class Statistics {
 public:
  explicit Statistics(int64_t sigma) : sigma_(static_cast<double>(sigma)) {}

  void Add(const std::vector<int64_t>& samples) {
    for (const int64_t sample : samples) {
      const double z = static_cast<double>(sample) / sigma_;
      const double square = z * z;
      moments_[0] += z;
      moments_[1] += square;
      moments_[2] += z * square;
      moments_[3] += square * square;
      lag_ += z * previous_;
      previous_ = z;
      ++low_bytes_[static_cast<uint64_t>(sample) & 255];
      ++bins_[std::clamp<int64_t>((sample >> 17) + kBins / 2, 0, kBins - 1)];
      const double size = std::fabs(z);
      if (size > 3) {
        for (size_t i = 0; i < tails_.size(); ++i) tails_[i] += size > static_cast<double>(i + 3);
      }
    }
    count_ += static_cast<double>(samples.size());
  }

  struct Deviate {
    std::string name;
    double value;
  };
  std::vector<Deviate> Deviates() const {
    const double root = std::sqrt(count_);
    std::vector<Deviate> deviates = {
        {"mean", moments_[0] / root},
        {"variance", (moments_[1] - count_) / root / std::sqrt(2)},
        {"skewness", moments_[2] / root / std::sqrt(15)},
        {"kurtosis", (moments_[3] - 3 * count_) / root / std::sqrt(96)},
        {"lag", lag_ / root},
        {"bins", ChiSquareDeviate(bins_, ExpectedBins())},
        {"low bytes", ChiSquareDeviate(low_bytes_, std::vector<double>(256, count_ / 256))},
    };
    for (size_t i = 0; i < tails_.size(); ++i) {
      const double expected = 2 * NormalCdf(-static_cast<double>(i + 3)) * count_;
      // Of a Poisson number (Anscombe 1948).
      deviates.push_back({std::to_string(i + 3) + " sigma",
                          2 * (std::sqrt(tails_[i] + 0.375) - std::sqrt(expected + 0.375))});
    }
    return deviates;
  }
  double count() const { return count_; }
  double tail(size_t sigmas) const { return tails_[sigmas - 3]; }

 private:
  static constexpr int kBins = 1024;

  // Bins 1/128 wide over +-4 standard deviations of kSigma, whose edges are half-integers of the
  // grid; the outer two are open.
  std::vector<double> ExpectedBins() const {
    const auto below = [&](int bin) {
      if (bin == 0) return 0.0;
      return bin == kBins ? 1.0 : NormalCdf((bin - kBins / 2) / 128.0 - 0.5 / double{kSigma});
    };
    std::vector<double> expected(kBins);
    for (int bin = 0; bin < kBins; ++bin) expected[bin] = (below(bin + 1) - below(bin)) * count_;
    return expected;
  }

  double sigma_, count_ = 0, lag_ = 0, previous_ = 0;
  std::array<double, 4> moments_ = {};
  std::array<double, 4> tails_ = {};
  std::vector<int64_t> low_bytes_ = std::vector<int64_t>(256);
  std::vector<int64_t> bins_ = std::vector<int64_t>(kBins);
};

Statistics StatisticsOf(int64_t sigma, uint64_t rounds) {
  constexpr size_t kPiece = size_t{1} << 20;
  constexpr uint64_t kPieces = 32;
  Statistics statistics(kSigma);
  std::vector<int64_t> samples(kPiece);
  for (uint64_t round = 0; round < rounds; ++round) {
    KeyStream key = RootKey::NonPrivateForTesting(7).Derive(KeyPurpose::kNoise, 1000 + round);
    for (uint64_t piece = 0; piece < kPieces; ++piece) {
      std::fill(samples.begin(), samples.end(), 0);
      RoundedGaussian(sigma).AddTo(key, 0, piece * kPiece, absl::MakeSpan(samples));
      statistics.Add(samples);
    }
  }
  return statistics;
}

TEST(ExactNoise, HasTheStatisticsOfTheNormal) {
  const Statistics statistics = StatisticsOf(kSigma, Rounds());
  std::printf("%.4g samples, %g beyond 6 sigma, deviates:", statistics.count(), statistics.tail(6));
  for (const auto& [name, value] : statistics.Deviates()) {
    std::printf(" %s %.2f", name.c_str(), value);
    EXPECT_LT(std::fabs(value), 4) << name;
  }
  std::printf("\n");
}

TEST(ExactNoise, ATenthOfAPercentOfSigmaIsNoticed) {
  const std::vector<Statistics::Deviate> deviates =
      StatisticsOf(kSigma + kSigma / 1000, 1).Deviates();
  EXPECT_EQ(deviates[1].name, "variance");
  EXPECT_GT(deviates[1].value, 5);
}

}  // namespace
}  // namespace dpledger::client
