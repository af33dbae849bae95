// Empirical bounds against sums of single probabilities at 40 digits.
#include "accountant/audit/audit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "accountant/audit/binomial.h"
#include "accountant/numeric/normal.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant::audit {
namespace {

using ::dpledger::testing::ListAt;
using ::dpledger::testing::NumberAt;
using ::dpledger::testing::ReadJsonFile;

uint64_t CountAt(const google::protobuf::Struct& object, const std::string& key) {
  return static_cast<uint64_t>(NumberAt(object, key));
}

OneRun RunAt(const google::protobuf::Struct& c) {
  return {CountAt(c, "canaries"), CountAt(c, "guesses"), CountAt(c, "correct")};
}

TEST(Binomial, TailsContainTheOracleFarOut) {
  const auto oracle = ReadJsonFile("tests/data/audit_oracle.json");
  int far = 0;
  for (const auto& value : ListAt(oracle, "binomial")) {
    const auto& c = value.struct_value();
    const Binomial binomial(CountAt(c, "trials"), NumberAt(c, "log_odds"));
    const uint64_t k = CountAt(c, "k");
    const double log_tail = NumberAt(c, "log_upper_tail");
    const Interval tail = binomial.UpperTail(k);
    // The oracle's own last digit; a tail below 1e-250 has an upper bound only.
    const double slack = 4e-16 * (1 + std::fabs(log_tail));
    EXPECT_GE(std::log(tail.upper()), log_tail - slack) << value.DebugString();
    EXPECT_LE(std::log(tail.lower()), log_tail + slack) << value.DebugString();
    if (log_tail > -550) {
      EXPECT_LT(tail.RelativeGap(), 1e-8) << value.DebugString();
    } else {
      ++far;
    }
    const double log_mean = NumberAt(c, "log_greatest_mean");
    const double mean = binomial.GreatestMeanBelow(k);
    if (k == 0) {
      EXPECT_EQ(mean, 0);
    } else {
      EXPECT_GE(std::log(mean), log_mean - 4e-16 * (1 + std::fabs(log_mean)));
      EXPECT_LE(std::log(mean), log_mean + 1e-8 + (log_mean < -550 ? 1e300 : 0));
    }
  }
  EXPECT_GT(far, 0);
}

TEST(Binomial, ABillionTrialsKeepTheirDigits) {
  // P(W >= n/2) of a fair coin is (1 + P(W = n/2))/2, and P(W = n/2) = sqrt(2/(πn))(1 - 1/(4n) +
  // …).
  const uint64_t n = 1'000'000'000;
  const Interval tail = Binomial(n, 0).UpperTail(n / 2);
  const double truth = 0.5 + 0.5 * std::sqrt(2 / (M_PI * 1e9)) * (1 - 0.25e-9);
  EXPECT_TRUE(tail.Contains(truth));
  EXPECT_LT(tail.RelativeGap(), 1e-8);
}

TEST(OneRun, BoundIsJustBelowTheOracles) {
  const auto oracle = ReadJsonFile("tests/data/audit_oracle.json");
  ASSERT_GE(ListAt(oracle, "one_run").size(), 9);
  for (const auto& value : ListAt(oracle, "one_run")) {
    const auto& c = value.struct_value();
    const double delta = NumberAt(c, "delta"), confidence = NumberAt(c, "confidence");
    const double p = NumberAt(c, "p_value_at_1");
    EXPECT_GE(PValue(RunAt(c), 1, delta), p * (1 - 1e-15)) << value.DebugString();
    EXPECT_LE(PValue(RunAt(c), 1, delta), p * (1 + 1e-9)) << value.DebugString();
    const auto bound = EpsilonLowerBound(RunAt(c), delta, confidence);
    ASSERT_TRUE(bound.ok()) << bound.status();
    const double truth = NumberAt(c, "epsilon");
    EXPECT_LE(*bound, truth * (1 + 1e-15)) << value.DebugString();
    EXPECT_GE(*bound, truth * (1 - 1e-8)) << value.DebugString();
    // The control: one more right guess, and the bound is past the oracle's.
    OneRun better = RunAt(c);
    if (better.correct < better.guesses && truth > 0) {
      ++better.correct;
      EXPECT_GT(EpsilonLowerBound(better, delta, confidence).value(), truth);
    }
  }
}

// With δ = 0 and every guess right, p = (e^ε/(1 + e^ε))^r.
TEST(OneRun, AllRightWithoutDeltaIsTheClosedForm) {
  for (const uint64_t r : {1, 5, 40, 1000, 1000000}) {
    const auto bound = EpsilonLowerBound({r, r, r}, 0, 0.95);
    ASSERT_TRUE(bound.ok()) << bound.status();
    const double root = std::expm1(-std::log(0.05) / static_cast<double>(r));
    const double truth = std::fmax(0, -std::log(root));
    EXPECT_NEAR(*bound, truth, 1e-8 * (1 + truth)) << r;
    EXPECT_LE(*bound, truth * (1 + 1e-13)) << r;
  }
}

TEST(OneRun, FewerCanariesADeltaOrMoreConfidenceNeverRaiseIt) {
  const OneRun run{1000, 400, 330};
  const double bound = EpsilonLowerBound(run, 1e-5, 0.95).value();
  EXPECT_GT(bound, 1);
  EXPECT_LT(EpsilonLowerBound(run, 1e-4, 0.95).value(), bound);
  EXPECT_LT(EpsilonLowerBound(run, 1e-5, 0.99).value(), bound);
  EXPECT_LT(EpsilonLowerBound({100000, 400, 330}, 1e-5, 0.95).value(), bound);
  EXPECT_EQ(EpsilonLowerBound({1000, 400, 200}, 1e-5, 0.95).value(), 0);
  EXPECT_EQ(EpsilonLowerBound({1000, 400, 0}, 1e-5, 0.95).value(), 0);
  EXPECT_EQ(EpsilonLowerBound(run, 0.5, 0.95).value(), 0);
}

// Randomized response with every canary guessed by its answer: the number of right guesses is
// binomial.
TEST(OneRunCurve, RefutesATrueClaimNoMoreOftenThanItSays) {
  const auto least_other = [](double epsilon) {
    return [epsilon](double x) {
      return std::fmax(std::exp(-epsilon) * x, 1 - std::exp(epsilon) * (1 - x));
    };
  };
  int refuted = 0, wrongly = 0;
  for (const double epsilon : {0.2, 1.0, 3.0}) {
    for (const uint64_t n : {1, 2, 12, 40}) {
      const double p = 1 / (1 + std::exp(-epsilon));
      double tail = 0, weight = std::pow(p, static_cast<double>(n));
      for (uint64_t v = n; v > 0; --v) {
        tail += weight;  // P(W >= v)
        weight *= static_cast<double>(v) / static_cast<double>(n - v + 1) * (1 - p) / p;
        for (const double significance : {0.9, 0.5, 0.2, 0.05, 0.01, 1e-4}) {
          const auto found = RefutesCurve({n, n, v}, least_other(epsilon), 1 - significance);
          ASSERT_TRUE(found.ok()) << found.status();
          refuted += *found;
          if (*found) {
            EXPECT_LT(tail, significance * (1 + 1e-12)) << epsilon << " " << n << " " << v;
          }
          // The control: a claim that is false.
          wrongly += tail >= significance &&
                     *RefutesCurve({n, n, v}, least_other(0.7 * epsilon), 1 - significance);
        }
      }
    }
  }
  EXPECT_GT(refuted, 100);
  EXPECT_GT(wrongly, 10);
}

// The rule as its authors write it, by two sums from the top down.
bool RefutesByTheirRule(const OneRun& run, double mu, long double significance) {
  const auto m = static_cast<long double>(run.canaries), n = static_cast<long double>(run.guesses),
             v = static_cast<long double>(run.correct);
  long double r = significance * v / m, h = significance * (n - v) / m;
  for (long double i = v - 1; i >= 0; --i) {
    const double t = NormalTailInverse(static_cast<double>(std::fmin(r, 1 - 1e-16L)));
    const long double next = std::fmax(h, static_cast<long double>(NormalTail(t + mu)));
    r = std::fmin(1.0L, r + i / (n - i) * (next - h));
    h = next;
  }
  return r + h > n / m;
}

TEST(OneRunCurve, GaussianBoundIsWhereTheirRuleCeasesToRefute) {
  for (const OneRun run : {OneRun{10000, 200, 170}, OneRun{10000, 1000, 790}, OneRun{50, 50, 45},
                           OneRun{3, 1, 1}, OneRun{100000, 100000, 60000}}) {
    for (const double confidence : {0.5, 0.95, 0.999}) {
      const auto mu = GaussianLowerBound(run, confidence);
      ASSERT_TRUE(mu.ok()) << mu.status();
      EXPECT_FALSE(RefutesByTheirRule(run, *mu + 1e-6, 1 - confidence)) << run.guesses;
      if (*mu > 0) {
        EXPECT_TRUE(RefutesByTheirRule(run, *mu - 1e-6, 1 - confidence)) << run.guesses;
      }
    }
  }
}

// Scores of N(0, 1) for canaries that are out and N(mu, 1) for those in, the outermost ones
// guessed.
OneRun IdealRun(double mu, uint64_t canaries, uint64_t guesses, std::mt19937_64& random) {
  std::normal_distribution<double> noise;
  std::vector<std::pair<double, bool>> scores;
  for (uint64_t i = 0; i < canaries; ++i) {
    const bool in = (random() >> 63) != 0;
    scores.emplace_back(noise(random) + (in ? mu : 0), in);
  }
  std::sort(scores.begin(), scores.end());
  OneRun run{canaries, guesses, 0};
  for (uint64_t i = 0; i < guesses / 2; ++i) {
    run.correct += !scores[i].second;
    run.correct += scores[canaries - 1 - i].second;
  }
  return run;
}

// ε = 4 at δ = 1e-8 is μ = 0.716; half of it μ = 0.382. The binomial bound does not show it.
TEST(OneRunCurve, ShowsHalfOfWhatAGaussianMechanismSpends) {
  constexpr double kMu = 0.7161, kHalf = 0.3819;
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 20; ++trial) {
    const OneRun run = IdealRun(kMu, 10000, 500, random);
    const double mu = GaussianLowerBound(run, 0.95).value();
    EXPECT_GT(mu, kHalf) << trial;
    EXPECT_LT(mu, kMu) << trial;  // 19 of 20 times at least
    EXPECT_LT(EpsilonLowerBound(run, 1e-8, 0.95).value(), 2) << trial;
  }
}

TEST(ManyRuns, RatesAndBoundAreJustOutsideTheOracles) {
  const auto oracle = ReadJsonFile("tests/data/audit_oracle.json");
  ASSERT_GE(ListAt(oracle, "many_runs").size(), 5);
  for (const auto& value : ListAt(oracle, "many_runs")) {
    const auto& c = value.struct_value();
    const ManyRuns runs{CountAt(c, "with_record"), CountAt(c, "detected_with"),
                        CountAt(c, "without_record"), CountAt(c, "detected_without")};
    const auto rates = BoundErrorRates(runs, NumberAt(c, "confidence"));
    ASSERT_TRUE(rates.ok()) << rates.status();
    EXPECT_GE(rates->type_one, NumberAt(c, "type_one") * (1 - 1e-15));
    EXPECT_LE(rates->type_one, NumberAt(c, "type_one") * (1 + 1e-7));
    EXPECT_GE(rates->type_two, NumberAt(c, "type_two") * (1 - 1e-15));
    EXPECT_LE(rates->type_two, NumberAt(c, "type_two") * (1 + 1e-7));
    const double bound = EpsilonLowerBound(*rates, NumberAt(c, "delta"));
    EXPECT_LE(bound, NumberAt(c, "epsilon") * (1 + 1e-15));
    EXPECT_GE(bound, NumberAt(c, "epsilon") * (1 - 1e-6));
  }
}

TEST(ManyRuns, ATestWithoutFalseAlarmsForSureHasNoBound) {
  EXPECT_EQ(EpsilonLowerBound({0, 0.5}, 1e-5), std::numeric_limits<double>::infinity());
  EXPECT_EQ(EpsilonLowerBound({0.5, 0.5}, 1e-5), 0);
  EXPECT_EQ(EpsilonLowerBound({0, 1}, 1e-5), 0);
}

TEST(Audit, RefusesCountsThatCannotBe) {
  const auto one = [](OneRun run, double delta, double confidence) {
    return std::string(EpsilonLowerBound(run, delta, confidence).status().message());
  };
  EXPECT_EQ(one({0, 1, 1}, 0, 0.95), "canaries: must be in [1, 2^53], got 0");
  EXPECT_EQ(one({10, 11, 1}, 0, 0.95), "guesses: must be in [1, 10], got 11");
  EXPECT_EQ(one({10, 0, 0}, 0, 0.95), "guesses: must be in [1, 10], got 0");
  EXPECT_EQ(one({uint64_t{1} << 40, uint64_t{1} << 40, 1}, 0, 0.95),
            "guesses: must be in [1, 1000000000], got 1099511627776");
  EXPECT_EQ(one({10, 5, 6}, 0, 0.95), "correct: must be in [0, 5], got 6");
  EXPECT_EQ(one({10, 5, 5}, 1, 0.95), "delta: must be in [0, 1), got 1");
  EXPECT_EQ(one({10, 5, 5}, std::nan(""), 0.95), "delta: must be in [0, 1), got nan");
  EXPECT_EQ(one({10, 5, 5}, 0, 1), "confidence: must be in (0, 1), got 1");
  EXPECT_EQ(GaussianLowerBound({1000000, 100001, 5}, 0.95).status().message(),
            "guesses: must be in [1, 100000], got 100001");
  EXPECT_EQ(BoundErrorRates({10, 11, 10, 0}, 0.95).status().message(),
            "detected_with: must be in [0, 10], got 11");
  EXPECT_EQ(BoundErrorRates({10, 1, 0, 0}, 0.95).status().message(),
            "without_record: must be in [1, 1000000000], got 0");
}

}  // namespace
}  // namespace dpledger::accountant::audit
