#include "client/poisson_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/status.h"
#include "tests/client/oracle.h"
#include "tests/support/targets.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::OnEveryTarget;

using ::testing::HasSubstr;

std::unique_ptr<PoissonSampler> TestSampler(uint64_t population, double probability,
                                            uint64_t seed = 7) {
  auto sampler =
      PoissonSampler::Create({population, probability}, RootKey::NonPrivateForTesting(seed));
  EXPECT_TRUE(sampler.ok()) << sampler.status();
  return *std::move(sampler);
}

TEST(PoissonSampler, GivesTheSamplesOfTheFormatOnEveryTarget) {
  OnEveryTarget([](const std::string& target) {
    const auto oracle = LoadOracle();
    for (const auto& entry : ListAt(oracle.fields(), "samples")) {
      const JsonObject& fields = entry.struct_value().fields();
      const auto sampler = TestSampler(NumberAt(fields, "population"), NumberAt(fields, "q"));
      for (int step = 0; step < NumberAt(fields, "step"); ++step) ASSERT_TRUE(sampler->Draw().ok());
      const auto sample = sampler->Draw();
      ASSERT_TRUE(sample.ok());
      EXPECT_EQ(std::vector<int64_t>(sample->begin(), sample->end()), IntegersAt(fields, "indices"))
          << target;
    }
  });
}

TEST(PoissonSampler, OfProbabilityOneTakesEveryRecord) {
  const auto sample = TestSampler(1000, 1)->Draw();
  ASSERT_TRUE(sample.ok());
  std::vector<uint64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(*sample, all);
}

TEST(PoissonSampler, OfTinyProbabilityTakesAlmostNothing) {
  for (const double probability : {0x1p-40, 1e-300, std::numeric_limits<double>::denorm_min()}) {
    const auto sample = TestSampler(10'000'000, probability)->Draw();
    ASSERT_TRUE(sample.ok());
    EXPECT_TRUE(sample->empty()) << probability;
  }
}

TEST(PoissonSampler, CountsAreBinomial) {
  struct Case {
    uint64_t population;
    double probability;
    int draws;
  };
  for (const auto& [population, probability, draws] :
       {Case{1000, 0.25, 2000}, Case{1000, 0.999, 500}, Case{50'000'000, 0x1p-20, 60},
        Case{3'000'000, 0.01, 30}}) {
    const auto sampler = TestSampler(population, probability);
    double count = 0;
    for (int draw = 0; draw < draws; ++draw) {
      const auto sample = sampler->Draw();
      ASSERT_TRUE(sample.ok());
      count += static_cast<double>(sample->size());
      for (size_t i = 1; i < sample->size(); ++i) ASSERT_LT((*sample)[i - 1], (*sample)[i]);
      ASSERT_TRUE(sample->empty() || sample->back() < population);
    }
    const double trials = static_cast<double>(population) * draws;
    EXPECT_LT(std::fabs(count - trials * probability),
              6 * std::sqrt(trials * probability * (1 - probability)))
        << population << ' ' << probability;
  }
}

TEST(PoissonSampler, EachRecordHasItsProbability) {
  constexpr int kDraws = 20000;
  constexpr double kProbability = 0.3;
  const auto sampler = TestSampler(20, kProbability);
  std::vector<int> counts(20), neighbours(20);
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto sample = sampler->Draw();
    ASSERT_TRUE(sample.ok());
    for (size_t i = 0; i < sample->size(); ++i) {
      ++counts[(*sample)[i]];
      if (i > 0 && (*sample)[i] == (*sample)[i - 1] + 1) ++neighbours[(*sample)[i]];
    }
  }
  const auto within = [](int count, double p) {
    return std::fabs(count - kDraws * p) < 6 * std::sqrt(kDraws * p * (1 - p));
  };
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(within(counts[i], kProbability)) << i;
  for (int i = 1; i < 20; ++i) EXPECT_TRUE(within(neighbours[i], 0.09)) << i;
}

// U within 2^-300 of (1 - q)^k, on either side: 64 bits leave the skip open, 384 decide it.
TEST(GeometricSkip, ExtendsBitsUntilDecided) {
  // q = 1/2: (1 - q)^3 = 1/8 has the words {2^61, 0, 0, ...}; U >= 1/8 skips 2, below it skips 3.
  const internal::GeometricSkip skip(0.5);
  for (const bool below : {false, true}) {
    uint64_t deepest = 0;
    const auto bits = [&](uint64_t level) -> uint64_t {
      deepest = std::max(deepest, level);
      if (below) return level == 0 ? (uint64_t{1} << 61) - 1 : level < 5 ? ~uint64_t{0} : 7;
      return level == 0 ? uint64_t{1} << 61 : level < 5 ? 0 : 7;
    };
    EXPECT_EQ(skip.Exact(100, bits), below ? 3u : 2u);
    EXPECT_EQ(deepest, 5u);
  }
}

TEST(GeometricSkip, TakesAllZeroAndAllOneWords) {
  const internal::GeometricSkip skip(0.25);
  const auto chain = [](uint64_t first) {
    return [first](uint64_t level) { return level == 0 ? first : uint64_t{12345}; };
  };
  EXPECT_EQ(skip.Exact(100, chain(0)), 100u);
  EXPECT_EQ(skip.Exact(1000, chain(0)), 275u);  // floor(ln(12345.5 * 2^-128) / ln 0.75), by mpmath
  EXPECT_EQ(skip.Exact(1000, chain(~uint64_t{0})), 0u);
}

TEST(PoissonSampler, SchemeNamesTheVeryProbability) {
  const double probability = std::nextafter(0.01, 1);
  const accountant::SamplingScheme scheme = TestSampler(1000, probability)->scheme();
  EXPECT_EQ(scheme.population_size, 1000u);
  EXPECT_EQ(std::get<accountant::PoissonSampling>(scheme.kind).probability, probability);
}

TEST(PoissonSampler, WithKernelKeysDrawsDifferentSamples) {
  const auto one = PoissonSampler::Create({1000, 0.5}), other = PoissonSampler::Create({1000, 0.5});
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE(*(*one)->Draw(), *(*other)->Draw());
  EXPECT_NE(*(*one)->Draw(), *(*one)->Draw());
}

TEST(PoissonSampler, RefusesOptionsOutOfTheirDomain) {
  struct Case {
    PoissonSamplerOptions options;
    const char* message;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Case& bad : {Case{{0, 0.5}, "population_size: must be in [1, 2^53), got 0"},
                          Case{{uint64_t{1} << 53, 0.5},
                               "population_size: must be in [1, 2^53), got 9007199254740992"},
                          Case{{10, 0}, "probability: must be in (0, 1], got 0"},
                          Case{{10, -0.5}, "probability: must be in (0, 1], got -0.5"},
                          Case{{10, 1.5}, "probability: must be in (0, 1], got 1.5"},
                          Case{{10, nan}, "probability: must be in (0, 1], got nan"}}) {
    const auto sampler = PoissonSampler::Create(bad.options);
    EXPECT_EQ(sampler.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(sampler.status().message(), bad.message);
  }
}

}  // namespace
}  // namespace dpledger::client
