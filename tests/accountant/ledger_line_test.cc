#include "accountant/contour/ledger_line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "accountant/contour/contour.h"

namespace dpledger::accountant::contour {
namespace {

// Of all steps together, from scratch.
std::optional<Interval> Fresh(const std::vector<SampledGaussian>& steps, double delta) {
  Composition composition;
  for (const SampledGaussian& step : steps) {
    bool known = false;
    for (SampledGaussian& other : composition.steps) {
      if (other.sampling_probability == step.sampling_probability &&
          other.noise_multiplier.lower() == step.noise_multiplier.lower()) {
        other.count += step.count;
        known = true;
      }
    }
    if (!known) composition.steps.push_back(step);
  }
  return *Epsilon(composition, delta, {});
}

bool Overlap(const Interval& a, const Interval& b) {
  return a.lower() <= b.upper() && b.lower() <= a.upper();
}

TEST(LedgerLine, OfNothingIsZero) {
  LedgerLine line(1e-5);
  EXPECT_EQ((*line.Epsilon({}))->upper(), 0);
}

// Through growth by a factor of ten one at a time: additions, new lines, and the add direction's
// certificate.
TEST(LedgerLine, StepByStepMeetsTheFreshAnswer) {
  LedgerLine line(1e-5);
  std::vector<SampledGaussian> all = {{0.01, {1, 1}, 1000}};
  line.Append(all[0]);
  for (int i = 0; i < 9000; ++i) {
    line.Append({0.01, {1, 1}, 1});
    ++all[0].count;
    const auto found = line.Epsilon({});
    ASSERT_TRUE(found.ok() && found->has_value()) << i;
    EXPECT_LE((*found)->RelativeGap(), 1e-9) << i;
    if (i % 100 != 0) continue;
    const auto fresh = Fresh(all, 1e-5);
    ASSERT_TRUE(fresh.has_value());
    EXPECT_TRUE(Overlap(**found, *fresh)) << i;
    // The control: one step less or more is told apart.
    for (const int64_t other : {-1, 1}) {
      std::vector<SampledGaussian> wrong = all;
      wrong[0].count += static_cast<uint64_t>(other);
      EXPECT_FALSE(Overlap(**found, *Fresh(wrong, 1e-5))) << i;
    }
  }
}

TEST(LedgerLine, RandomAppendsMeetTheFreshAnswer) {
  std::mt19937_64 random(3);
  const auto log_uniform = [&](double a, double b) {
    return a * std::pow(b / a, std::uniform_real_distribution<double>()(random));
  };
  int answered = 0, by_jumps = 0;
  for (int ledger = 0; ledger < 30; ++ledger) {
    const double delta = log_uniform(1e-12, 1e-4);
    LedgerLine line(delta);
    std::vector<SampledGaussian> all;
    for (int i = 0; i < 40; ++i) {
      const double z = log_uniform(0.7, 4);
      SampledGaussian step{log_uniform(1e-3, 0.6), {z, z}, 0};
      if (!all.empty() && random() % 4 != 0) step = all[random() % all.size()];
      step.count = static_cast<uint64_t>(log_uniform(1, 300)) * (i == 0 ? 10 : 1);
      all.push_back(step);
      line.Append(step);
      const auto found = line.Epsilon({});
      ASSERT_TRUE(found.ok()) << found.status();
      const auto fresh = Fresh(all, delta);
      if (!found->has_value() || !fresh.has_value()) continue;
      ++answered;
      EXPECT_TRUE(Overlap(**found, *fresh)) << ledger << " " << i;
      // Where one line gives little, a fresh question goes by jumps, and the ledger does not.
      by_jumps += fresh->RelativeGap() < 1e-7 && (*found)->RelativeGap() > 1e-6;
      if ((*found)->RelativeGap() <= 1e-6) {
        EXPECT_LE((*found)->RelativeGap(), std::fmax(2e-9, 20 * fresh->RelativeGap()));
      }
    }
  }
  EXPECT_GE(answered, 1000);
  EXPECT_LE(by_jumps, 10);
}

// An interval of noise multipliers too wide for one line is answered all the same.
TEST(LedgerLine, WideNoiseMultipliersAreAnsweredFromScratch) {
  LedgerLine line(1e-5);
  const SampledGaussian step{0.01, {1, 1.001}, 10000};
  line.Append(step);
  const auto found = line.Epsilon({});
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_TRUE(Overlap(**found, *Fresh({step}, 1e-5)));
  EXPECT_GE((*found)->RelativeGap(), 1e-4);
}

TEST(LedgerLine, StopsWhenCancelled) {
  LedgerLine line(1e-5);
  line.Append({0.01, {1, 1}, 10000});
  Limits limits;
  limits.cancelled = [] { return true; };
  EXPECT_EQ(line.Epsilon(limits).status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(line.Epsilon({})->has_value());
}

}  // namespace
}  // namespace dpledger::accountant::contour
