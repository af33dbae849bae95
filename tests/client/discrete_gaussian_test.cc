#include "client/discrete_gaussian.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "client/root_key.h"
#include "tests/client/oracle.h"
#include "tests/client/statistics.h"

namespace dpledger::client {
namespace {

KeyStream TestKey(uint64_t step) {
  return RootKey::NonPrivateForTesting(7).Derive(KeyPurpose::kNoise, step);
}

template <class Gaussian>
std::vector<int64_t> Noise(KeyStream key, uint64_t part, size_t count, int64_t sigma) {
  std::vector<int64_t> sums(count);
  Gaussian(sigma).AddTo(key, part, 0, absl::MakeSpan(sums));
  return sums;
}

TEST(DiscreteGaussian, GivesTheSamplesOfTheFormat) {
  const auto oracle = LoadOracle();
  size_t rejections = 0;
  for (const auto& entry : ListAt(oracle.fields(), "discrete")) {
    const JsonObject& noise = entry.struct_value().fields();
    const std::vector<int64_t> expected = IntegersAt(noise, "values");
    const auto sigma = static_cast<int64_t>(NumberAt(noise, "sigma"));
    const uint64_t step = NumberAt(noise, "step"), part = NumberAt(noise, "part");
    EXPECT_EQ(Noise<DiscreteGaussian>(TestKey(step), part, expected.size(), sigma), expected);
    const auto rounded = Noise<RoundedGaussian>(TestKey(step), part, expected.size(), sigma);
    for (size_t i = 0; i < expected.size(); ++i) rejections += rounded[i] != expected[i];
  }
  EXPECT_GE(rejections, 2u);
}

// A uniform that agrees with the probability in 192 bits and is less, and one more than it.
TEST(DiscreteGaussian, KeepsACandidateWithTheProbabilityOfTheOracle) {
  const auto oracle = LoadOracle();
  for (const auto& entry : ListAt(oracle.fields(), "kept")) {
    const JsonObject& fields = entry.struct_value().fields();
    const auto k = static_cast<int64_t>(NumberAt(fields, "k"));
    const auto sigma = static_cast<int64_t>(NumberAt(fields, "sigma"));
    std::vector<uint64_t> words = WordsAt(fields, "words");
    const DiscreteGaussian gaussian(sigma);
    const auto word = [&](uint64_t level) { return level < words.size() ? words[level] : 0; };
    EXPECT_TRUE(gaussian.Keeps(k, word)) << k << " sigma " << sigma;
    for (size_t i = words.size(); i-- > 0 && ++words[i] == 0;) {
    }
    EXPECT_FALSE(gaussian.Keeps(k, word)) << k << " sigma " << sigma;
    EXPECT_TRUE(gaussian.Keeps(k, [](uint64_t) { return 0; }));
  }
}

TEST(DiscreteGaussian, SamplesDoNotDependOnHowThePartIsSplit) {
  for (const int64_t sigma : {int64_t{1}, int64_t{1} << 24}) {
    const size_t count = sigma == 1 ? 500 : (1 << 16) + 3000;
    const std::vector<int64_t> whole = Noise<DiscreteGaussian>(TestKey(2), 1, count, sigma);
    std::vector<int64_t> split(count);
    KeyStream key = TestKey(2);
    size_t begin = 0;
    for (const size_t end : {size_t{1}, size_t{2}, size_t{7}, size_t{300}, count}) {
      DiscreteGaussian(sigma).AddTo(key, 1, begin,
                                    absl::MakeSpan(split).subspan(begin, end - begin));
      begin = end;
    }
    EXPECT_EQ(split, whole);
  }
}

// How far counts of `samples` are from exp(-k^2 / (2 sigma^2)), normalised; tails are one bin each.
double DeviateFromDiscrete(const std::vector<int64_t>& samples, int64_t sigma) {
  const int64_t edge = std::max<int64_t>(3, 7 * sigma / 2);
  const auto weight = [&](int64_t k) {
    return std::exp(-0.5 * std::pow(static_cast<double>(k) / static_cast<double>(sigma), 2));
  };
  std::vector<int64_t> counts(2 * edge + 1);
  std::vector<double> expected(2 * edge + 1);
  double total = 0;
  for (int64_t k = -12 * sigma; k <= 12 * sigma; ++k) total += weight(k);
  for (int64_t k = -12 * sigma; k <= 12 * sigma; ++k) {
    expected[std::clamp(k, -edge, edge) + edge] +=
        weight(k) / total * static_cast<double>(samples.size());
  }
  for (const int64_t sample : samples) ++counts[std::clamp(sample, -edge, edge) + edge];
  return ChiSquareDeviate(counts, expected);
}

TEST(DiscreteGaussian, HasItsExactProbabilities) {
  EXPECT_LT(std::fabs(DeviateFromDiscrete(Noise<DiscreteGaussian>(TestKey(3), 0, 100'000, 1), 1)),
            5);
  EXPECT_LT(std::fabs(DeviateFromDiscrete(Noise<DiscreteGaussian>(TestKey(4), 0, 600'000, 2), 2)),
            5);
  EXPECT_LT(
      std::fabs(DeviateFromDiscrete(Noise<DiscreteGaussian>(TestKey(5), 0, 2'000'000, 16), 16)), 5);
}

TEST(DiscreteGaussian, ARoundedGaussianIsNotOne) {
  EXPECT_GT(DeviateFromDiscrete(Noise<RoundedGaussian>(TestKey(3), 0, 100'000, 1), 1), 8);
  EXPECT_GT(DeviateFromDiscrete(Noise<RoundedGaussian>(TestKey(4), 0, 600'000, 2), 2), 8);
}

// At the sigma of training it is the rounded one but for a sample in 10^16.
TEST(DiscreteGaussian, IsTheRoundedOneWhereSigmaIsLarge) {
  EXPECT_EQ(Noise<DiscreteGaussian>(TestKey(6), 0, 1'000'000, 1 << 24),
            Noise<RoundedGaussian>(TestKey(6), 0, 1'000'000, 1 << 24));
}

}  // namespace
}  // namespace dpledger::client
