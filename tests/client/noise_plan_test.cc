// The integers behind a noise multiplier.
#include "client/noise_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace dpledger::client {
namespace {

using ::testing::HasSubstr;

// Of the whole round, by McMahan et al. 2018, eq. 1.
long double Multiplier(const NoisePlan& plan) {
  long double squares = 0;
  for (const int64_t norm_bound : plan.norm_bounds) {
    const long double change = static_cast<long double>(plan.sensitivity * norm_bound);
    squares += change * change;
  }
  return static_cast<long double>(plan.noise_stddev) / std::sqrt(squares);
}

TEST(NoisePlan, MultiplierIsTheLeastThatIsNotBelowTheOneAsked) {
  for (const double z : {0.001, 0.3, 0.5, 1.0, 1.1, 3.0821238, 16.0, 17.0, 1000.0}) {
    for (const size_t groups : {1u, 2u, 3u, 7u, 4096u}) {
      for (const int64_t sensitivity : {1, 2}) {
        auto plan = NoisePlan::For(z, std::vector<double>(groups, 1.0), sensitivity);
        ASSERT_TRUE(plan.ok()) << plan.status();
        ASSERT_EQ(plan->norm_bounds.size(), groups);
        EXPECT_GE(plan->norm_bounds[0], 1 << 20);
        EXPECT_LE(plan->norm_bounds[0], 1 << 25);
        EXPECT_GE(Multiplier(*plan), z * (1 - 1e-18L));
        EXPECT_LE(Multiplier(*plan), z * (1 + 1e-6L));
        for (int64_t& norm_bound : plan->norm_bounds) ++norm_bound;
        EXPECT_LT(Multiplier(*plan), z);
      }
    }
  }
  EXPECT_EQ(NoisePlan::For(1.0, {1.0})->norm_bounds[0], 1 << 24);
  EXPECT_EQ(NoisePlan::For(1.0, {5.0, 5.0, 5.0, 5.0})->norm_bounds[0], 1 << 23);
  EXPECT_EQ(NoisePlan::For(1.0, {1.0}, 2)->norm_bounds[0], 1 << 23);
}

TEST(NoisePlan, NormBoundsAreProportionalToTheWeights) {
  const auto plan = NoisePlan::For(1.3, {1, 0.25, 3});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GE(Multiplier(*plan), 1.3 * (1 - 1e-18L));
  EXPECT_LE(Multiplier(*plan), 1.3 * (1 + 1e-6L));
  const auto bound = [&](size_t i) { return static_cast<double>(plan->norm_bounds[i]); };
  EXPECT_NEAR(bound(1) / bound(0), 0.25, 1e-6);
  EXPECT_NEAR(bound(2) / bound(0), 3, 1e-6);
}

TEST(NoisePlan, RefusesMultipliersOutOfTheirDomain) {
  const auto message = [](double z, const std::vector<double>& weights) {
    const absl::Status status = NoisePlan::For(z, weights).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  for (const double z : {0.0, -1.0, 1e-9, 1e9, std::numeric_limits<double>::quiet_NaN(),
                         std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(
        message(z, {1.0}),
        HasSubstr("noise_multiplier: must give each sum query a multiplier in [2^-10, 2^20]; "));
  }
  EXPECT_THAT(message(0.01, {1e4, 0.01}), HasSubstr("that differ by more than 2^16: "));
}

// sum of size_g sigma_g^2, with sigma_g = C_g sigma_Z / K_g.
double NoiseVariance(const PrivatizerOptions& options, const NoisePlan& plan) {
  double variance = 0;
  for (size_t g = 0; g < options.groups.size(); ++g) {
    const double stddev = options.groups[g].clip_norm * static_cast<double>(plan.noise_stddev) /
                          static_cast<double>(plan.norm_bounds[g]);
    variance += static_cast<double>(options.groups[g].size) * stddev * stddev;
  }
  return variance;
}

TEST(NoisePlan, LeastVarianceIsTheLeastOfAllAllocations) {
  PrivatizerOptions options{{{"a", 1000000, 0.1}, {"b", 10, 3.0}, {"c", 500, 1.0}}, 1.1};
  options.allocation = NoiseAllocation::kLeastVariance;
  const auto least = NoisePlan::For(options);
  ASSERT_TRUE(least.ok()) << least.status();
  EXPECT_NEAR(static_cast<double>(Multiplier(*least)), 1.1, 1e-5);
  options.allocation = NoiseAllocation::kProportional;
  EXPECT_LT(NoiseVariance(options, *least), 0.7 * NoiseVariance(options, *NoisePlan::For(options)));
  std::vector<double> best(least->norm_bounds.begin(), least->norm_bounds.end());
  for (size_t g = 0; g < best.size(); ++g) {
    for (const double factor : {0.5, 0.9, 1.1, 2.0}) {
      std::vector<double> weights = best;
      weights[g] *= factor;
      const auto other = NoisePlan::For(1.1, weights);
      ASSERT_TRUE(other.ok()) << other.status();
      EXPECT_GT(NoiseVariance(options, *other), NoiseVariance(options, *least)) << g << factor;
    }
  }
}

}  // namespace
}  // namespace dpledger::client
