// The ends of every domain: answered or refused, never crashed, hung or wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "absl/time/clock.h"
#include "accountant/accountant.h"
#include "events/event_values.h"
#include "tests/accountant/conformance/question_rules.h"
#include "tests/support/random_setting.h"
#include "tests/support/sampled_cases.h"

namespace dpledger::accountant::conformance {
namespace {

using ::testing::HasSubstr;

Composition Steps(double q, double z, uint64_t count) {
  Composition composition;
  composition.steps.push_back({q, {z, z}, count});
  return composition;
}

// A bounded question. The time is far more than it may take, for machines that do much else.
Limits Bounded() {
  Limits limits;
  limits.deadline = absl::Now() + absl::Seconds(20);
  limits.max_fft_bins = 1 << 16;
  return limits;
}

TEST(Extremes, EveryCornerIsAnsweredOrRefused) {
  Fates fates;
  dpledger::testing::SampledCases sampled(2);
  for (const double q : {1e-12, 1e-3, 1.0}) {
    for (const double z : {1e-3, 1.0, 1e9}) {
      for (const uint64_t count : {uint64_t{1}, uint64_t{1} << 53}) {
        for (const double delta : {1e-300, 1e-10}) {
          if (!sampled.Next()) continue;
          SCOPED_TRACE(::testing::PrintToString(std::make_tuple(q, z, count, delta)));
          ExpectOrderedOrRefused(Steps(q, z, count), delta, Bounded(), fates);
        }
      }
    }
  }
  EXPECT_EQ(fates.unanswered, 0);
}

// ε(δ) and δ(ε) on the random settings of the sweep, with parameters pushed to the ends.
TEST(Extremes, EpsilonAndDeltaInvertEachOther) {
  Fates fates;
  std::mt19937_64 random(5);
  dpledger::testing::SampledCases sampled(2);
  for (uint64_t i = 0; i < 25; ++i) {
    auto setting = testing::RandomSettingAt(i);
    switch (random() % 6) {
      case 0:
        setting.noise_multiplier = 1e-3;
        break;
      case 1:
        setting.sampling_probability = 1e-12;
        break;
      case 2:
        setting.steps = uint64_t{1} << 53;
        break;
      case 3:
        setting.delta = 1e-300;
        break;
    }
    if (!sampled.Next()) continue;
    SCOPED_TRACE(i);
    ExpectOrderedOrRefused(
        Steps(setting.sampling_probability, setting.noise_multiplier, setting.steps), setting.delta,
        Bounded(), fates);
  }
  EXPECT_EQ(fates.unanswered, 0);
}

TEST(Extremes, ManyDistinctMechanismsAreAnsweredOrRunOutOfTime) {
  constexpr int kMechanisms = 20'000;
  Composition composition;
  for (int i = 0; i < kMechanisms; ++i) {
    const double z = 1 + i * (1.0 / kMechanisms);
    composition.steps.push_back({1e-3, {z, z}, 1});
  }
  for (const Method method : {Method::kBest, Method::kRdp}) {
    Options options;
    options.method = method;
    options.relative_gap = 1e-2;
    options.limits = Bounded();
    options.limits.deadline = absl::Now() + absl::Seconds(3);
    const auto answer = ComputeEpsilon(composition, 1e-5, options);
    if (answer.ok()) {
      // Between the same number of the least and of the most noise, which have time of their own:
      // the answer may have come just before its deadline.
      options.limits.deadline = absl::InfiniteFuture();
      const auto most = ComputeEpsilon(Steps(1e-3, 1, kMechanisms), 1e-5, options),
                 least = ComputeEpsilon(Steps(1e-3, 2, kMechanisms), 1e-5, options);
      ASSERT_TRUE(most.ok() && least.ok()) << most.status() << least.status();
      EXPECT_LE(answer->value.lower(), most->value.upper());
      EXPECT_GE(answer->value.upper(), least->value.lower());
    } else {
      EXPECT_EQ(answer.status().code(), absl::StatusCode::kDeadlineExceeded) << answer.status();
    }
  }
}

TEST(Extremes, DepthIsBounded) {
  const auto nested = [](int levels) {
    v1::Event event;
    v1::MechanismEvent* node = event.mutable_mechanism();
    for (int i = 1; i < levels; ++i) {
      node->mutable_self_composed()->set_count(1);
      node = node->mutable_self_composed()->mutable_event();
    }
    node->mutable_gaussian()->set_noise_multiplier(1);
    return event;
  };
  EXPECT_TRUE(events::ValueOf(nested(32)).ok());
  for (const int levels : {33, 64, 1000}) {
    const auto refused = events::ValueOf(nested(levels));
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr("must be at most 32 levels deep"));
  }
}

}  // namespace
}  // namespace dpledger::accountant::conformance
