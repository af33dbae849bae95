// Shuffled reports: the pair against enumerations in exact fractions
// (tests/oracle/shuffled_oracle.py) and sums written out, alone and composed.
#include "accountant/pair/shuffled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "accountant/accountant.h"
#include "base/status.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant {
namespace {

using ::dpledger::testing::ListAt;
using ::dpledger::testing::NumberAt;
using ::dpledger::testing::ReadJsonFile;
using ::testing::HasSubstr;

// Σ (p - e^ε q)_+; both directions have the same.
double Profile(const Pair& pair, double epsilon) {
  double sum = 0;
  for (const Atom& atom : pair.atoms) sum += std::fmax(0, atom.p - std::exp(epsilon) * atom.q);
  return sum;
}

double Epsilon(const Pair& pair, double delta) {
  double low = 0, high = 700;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (Profile(pair, middle) > delta ? low : high) = middle;
  }
  return high;
}

Composition Of(const Mechanism& mechanism, const Neighbours& neighbours = Adjacency::kReplaceOne) {
  History history;
  history.Add("w", mechanism);
  const auto composition = Resolve(history, neighbours);
  EXPECT_TRUE(composition.ok()) << composition.status();
  return composition.value_or(Composition());
}

Interval DeltaOf(const Mechanism& mechanism, double epsilon) {
  const auto delta = ComputeDelta(Of(mechanism), epsilon, {.relative_gap = 1e-5});
  EXPECT_TRUE(delta.ok()) << delta.status();
  return delta.ok() ? delta->value : Interval{0, 1};
}

absl::Status Refusal(const Mechanism& mechanism, const Neighbours& neighbours) {
  History history;
  history.Add("w", mechanism);
  return Resolve(history, neighbours).status();
}

// Rounding of the oracle's logarithms moves δ by less.
constexpr double kOracle = 1e-14;
// Of δ: what the grid of losses costs, one run and two.
constexpr double kGrid = 2e-3;

TEST(Shuffled, IsAboveEveryRandomizerAndBelowOne) {
  const auto oracle = ReadJsonFile("tests/data/shuffled_oracle.json");
  ASSERT_EQ(ListAt(oracle, "cases").size(), 48);
  int refuted = 0;
  for (const auto& value : ListAt(oracle, "cases")) {
    const auto& c = value.struct_value();
    const double local = NumberAt(c, "local_epsilon"), epsilon = NumberAt(c, "epsilon");
    const auto people = static_cast<uint64_t>(NumberAt(c, "people"));
    const std::string where = value.ShortDebugString();
    const double upper = Profile(ShuffledPair(local, people, Bound::kUpper), epsilon);
    const double pair = NumberAt(c, "pair");
    EXPECT_GE(upper, pair - kOracle) << where;
    EXPECT_LE(upper, pair * (1 + kGrid)) << where;
    for (const char* reports : {"third", "worst_response", "worst_random"}) {
      EXPECT_GE(upper, NumberAt(c, reports) - kOracle) << where;
    }
    const double lower = Profile(ShuffledPair(local, people, Bound::kLower), epsilon);
    EXPECT_LE(lower, NumberAt(c, "third") + kOracle) << where;
    EXPECT_GE(lower, NumberAt(c, "third") * (1 - kGrid)) << where;
    // Of two runs.
    const Interval twice = DeltaOf({2, Shuffled{local, people}}, epsilon);
    EXPECT_GE(twice.upper(), NumberAt(c, "pair_twice") - kOracle) << where;
    EXPECT_LE(twice.upper(), NumberAt(c, "pair_twice") * (1 + kGrid)) << where;
    EXPECT_LE(twice.lower(), NumberAt(c, "third_twice") + kOracle) << where;
    EXPECT_GE(twice.lower(), NumberAt(c, "third_twice") * (1 - kGrid) - 1e-4) << where;
    // Controls: the pairs of other chances of a copy, and of more people, are too low somewhere.
    const double more_people = Profile(ShuffledPair(local, 2 * people, Bound::kUpper), epsilon);
    refuted += NumberAt(c, "worst_response") > more_people * (1 + kGrid);
    refuted += NumberAt(c, "worst_response") > NumberAt(c, "pair_of_more_copies") * (1 + kGrid);
  }
  EXPECT_GT(refuted, 40);
}

// δ of the pair, or of randomized response among three values where all others have the third, each
// probability by itself: the mean over the numbers of each report among all people, each report
// from the blanket, of the positive part of p - e^ε q (mechanism/CLAIM.md, section 11, 2).
double Summed(double local, double people, double epsilon, bool third = false) {
  const double ratio = std::exp(local), share = 2 / (ratio + (third ? 2 : 1));
  const auto probability = [](double n, double k, double p) {
    return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                    k * std::log(p) + (n - k) * std::log1p(-p));
  };
  const auto range = [](double n, double p) {
    const double reach = 9 * std::sqrt(n * p * (1 - p)) + 20;
    return std::pair(std::fmax(0, std::floor(n * p - reach)),
                     std::fmin(n, std::ceil(n * p + reach)));
  };
  double sum = 0;
  const auto [fewest, most] = range(people, share);
  for (double fair = fewest; fair <= most; ++fair) {
    const double rest = third ? (people - fair) / ratio : 0;
    const double weight = probability(people, fair, share) / people;
    const auto [from, to] = range(fair, 0.5);
    for (double a = from; a <= to; ++a) {
      const double b = fair - a, p = ratio * a + b + rest, q = a + ratio * b + rest;
      sum += weight * probability(fair, a, 0.5) * std::fmax(0, p - std::exp(epsilon) * q);
    }
  }
  return sum;
}

TEST(Shuffled, OfManyPeopleIsTheSumWrittenOut) {
  for (const auto& [local, people, epsilon] :
       std::vector<std::tuple<double, uint64_t, double>>{{2, 1000, .3},
                                                         {.5, 3000, .02},
                                                         {1, 20000, .02},
                                                         {4, 20000, .2},
                                                         {8, 100000, .9},
                                                         {1, 100000, .01}}) {
    const double sum = Summed(local, static_cast<double>(people), epsilon);
    const Pair pair = ShuffledPair(local, people, Bound::kUpper);
    EXPECT_GE(Profile(pair, epsilon), sum * (1 - 1e-8)) << local << " " << people;
    // As an ε it is off by less than one part in 1500: the width of a slice, and the nodes.
    EXPECT_LE(Epsilon(pair, sum), epsilon * (1 + 1 / 1500.0)) << local << " " << people;
    const double least = Summed(local, static_cast<double>(people), epsilon, true);
    const Pair lower = ShuffledPair(local, people, Bound::kLower);
    EXPECT_LE(Profile(lower, epsilon), least * (1 + 1e-8)) << local << " " << people;
    EXPECT_GE(Epsilon(lower, least), epsilon * (1 - 1 / 1500.0)) << local << " " << people;
  }
}

// In place of (ε, δ) at one ε for ten shuffles.
TEST(Shuffled, TenAreFarBelowTenStatements) {
  const auto answer = ComputeEpsilon(Of({10, Shuffled{2, 1000}}), 1e-5, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  double least = 100;
  const Pair pair = ShuffledPair(2, 1000, Bound::kUpper);
  for (const double epsilon : {.15, .2, .25, .3, .35, .4, .45, .5}) {
    const double delta = Profile(pair, epsilon);
    const auto stated = ComputeEpsilon(Of({10, EpsilonDelta{epsilon, delta}}), 1e-5, {});
    if (stated.ok()) least = std::fmin(least, stated->value.upper());
  }
  EXPECT_LT(answer->value.upper(), 0.8 * least);
  EXPECT_GT(answer->value.lower(), 0.8 * answer->value.upper());
}

TEST(Shuffled, GrowsWithTheLocalEpsilonAndFallsWithPeople) {
  for (const Bound bound : {Bound::kUpper, Bound::kLower}) {
    for (const double epsilon : {0.0, 0.01, 0.1, 0.5}) {
      for (const double local : {.3, 1.0, 3.0, 7.0}) {
        double before = 1;
        for (const uint64_t people : {1, 2, 4, 17, 100, 130, 5000, 1000000}) {
          const double delta = Profile(ShuffledPair(local, people, bound), epsilon);
          EXPECT_LE(delta, before) << local << " " << people << " " << epsilon;
          EXPECT_LE(delta, Profile(ShuffledPair(local * 1.1, people, bound), epsilon))
              << local << " " << people << " " << epsilon;
          before = delta;
        }
      }
    }
  }
}

TEST(Shuffled, HaveMassOneOnBothSidesAndAreSymmetric) {
  for (const double local : {1e-300, 1e-13, 1e-9, .1, 2.0, 20.0, 99.0, 101.0, 600.0}) {
    for (const uint64_t people : {uint64_t{1}, uint64_t{2}, uint64_t{1000}, uint64_t{300000},
                                  kGreatestPeople, uint64_t{1} << 53}) {
      for (const Bound bound : {Bound::kUpper, Bound::kLower}) {
        const Pair pair = ShuffledPair(local, people, bound);
        double p = 0, q = 0;
        for (const Atom& atom : pair.atoms) {
          EXPECT_TRUE(atom.p >= 0 && atom.q >= 0 && atom.p + atom.q > 0);
          // The loss is at most that of a report; the upper pair has no infinite one.
          EXPECT_LE(std::fabs(std::log(atom.p / atom.q)), local + 2e-12);
          p += atom.p;
          q += atom.q;
        }
        EXPECT_NEAR(p, 1, 1e-8) << local << " " << people;
        EXPECT_NEAR(q, 1, 1e-8) << local << " " << people;
        EXPECT_TRUE(pair.symmetric);
        EXPECT_LE(pair.atoms.size(), 8192u);
        EXPECT_LT(pair.relative_error, 2e-9);
      }
    }
  }
}

TEST(Shuffled, AtTheEdgesIsWhatIsKnown) {
  const auto at = [](double local, uint64_t people, Bound bound) {
    return ShuffledPair(local, people, bound);
  };
  for (const Bound bound : {Bound::kUpper, Bound::kLower}) {
    EXPECT_EQ(at(0, 1000, bound), Pair::Nothing());
    EXPECT_EQ(at(3, 1, bound), EpsilonDeltaPair(3, 0, bound));
    EXPECT_EQ(at(601, 1, bound), EpsilonDeltaPair(601, 0, bound));
  }
  EXPECT_EQ(at(200, 1000, Bound::kUpper), EpsilonDeltaPair(200, 0, Bound::kUpper));
  EXPECT_EQ(at(700, 1000, Bound::kUpper), Everything());
  EXPECT_EQ(at(700, 1000, Bound::kLower), at(100, 1000, Bound::kLower));
  EXPECT_GT(Epsilon(at(700, 1000, Bound::kLower), 1e-6), 99.9);
  // More people than are counted hide no less.
  EXPECT_EQ(at(1, kGreatestPeople + 1, Bound::kUpper), at(1, kGreatestPeople, Bound::kUpper));
  EXPECT_EQ(at(1, kGreatestPeople + 1, Bound::kLower), Pair::Nothing());
  // A loss is known even where δ is 0: nobody's report shows more than by itself.
  const auto answer = ComputeEpsilon(Of({3, Shuffled{.5, 1000}}), 0, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_NEAR(answer->value.upper(), 1.5, 1e-6);
}

// Where the cut mass, the counts that are cut and the rounding of weights are the largest part.
TEST(Shuffled, AgreesFarOut) {
  for (const double share : {.3, .6, .9}) {
    const double epsilon = 2 * share;
    const double sum = Summed(2, 60, epsilon);
    EXPECT_GE(Profile(ShuffledPair(2, 60, Bound::kUpper), epsilon), sum * (1 - 1e-12)) << share;
    EXPECT_LE(Profile(ShuffledPair(2, 60, Bound::kUpper), epsilon), sum * (1 + kGrid)) << share;
  }
}

TEST(Shuffled, NeedsAPublicNumberOfReports) {
  const Mechanism shuffled{1, Shuffled{1, 100}};
  const Adjacency added = Adjacency::kAddOrRemoveOne;
  EXPECT_THAT(std::string(Refusal(shuffled, added).message()),
              HasSubstr("the number of reports shows who is there"));
  Neighbours asked = Adjacency::kReplaceOne;
  asked.declared = added;
  EXPECT_EQ(ReasonOf(Refusal(shuffled, asked)).reason, "NO_ANALYSIS");
  asked.declared = Adjacency::kZeroOut;
  EXPECT_THAT(std::string(Refusal(shuffled, asked).message()), HasSubstr("as declared"));
  asked = Adjacency::kReplaceOne;
  asked.group_size = 2;
  EXPECT_EQ(ReasonOf(Refusal(shuffled, asked)).reason, "NO_ANALYSIS");
  // A blank value is a value.
  EXPECT_EQ(Of(shuffled, Adjacency::kZeroOut).pairs.at(0).upper, Of(shuffled).pairs.at(0).upper);
  // How many people are in a sample is no public number.
  EXPECT_EQ(ReasonOf(Refusal({1, PoissonSampled{.5, {shuffled}}}, Adjacency::kReplaceOne)).reason,
            "NO_ANALYSIS");
  EXPECT_TRUE(Of({1, Shuffled{0, 100}}).Empty());
}

TEST(Shuffled, ManyDifferentOnesAreCountedByFewerPeople) {
  // The same ones are worked out once.
  const Composed same{std::vector<Mechanism>(4096, Mechanism{1, Shuffled{1, 1000000}})};
  EXPECT_EQ(Of({1, same}).pairs.at(0).count, 4096u);
  EXPECT_TRUE(Of({1, same}).warnings.empty());
  Composed different;
  for (uint64_t i = 0; i < 2048; ++i) different.events.push_back({1, Shuffled{1, 1000000 + i}});
  const Composition many = Of({1, different});
  EXPECT_THAT(many.warnings, ::testing::Contains(HasSubstr("many different shuffled events")));
  EXPECT_LT(many.pairs.size(), 100u);
  EXPECT_EQ(many.TotalCount(), 2048);
  // Between as many shuffles of the fewest people that they are counted as, and of the most.
  const auto counted = std::find_if(many.pairs.begin(), many.pairs.end(),
                                    [](const PairStep& step) { return step.count > 1; });
  ASSERT_NE(counted, many.pairs.end());
  EXPECT_EQ(counted->upper, ShuffledPair(1, 30 << 15, Bound::kUpper));
  EXPECT_EQ(counted->lower, ShuffledPair(1, 31 << 15, Bound::kLower));
  EXPECT_LT(Epsilon(counted->upper, 1e-6),
            1.03 * Epsilon(ShuffledPair(1, 1000000, Bound::kUpper), 1e-6));
}

TEST(Shuffled, TooManyLocalEpsilonsAreRefused) {
  Composed different;
  for (int i = 0; i < 4096; ++i) different.events.push_back({1, Shuffled{1 + i * 1e-6, 1000000}});
  const absl::Status status = Refusal({1, different}, Adjacency::kReplaceOne);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("round `people` down and local_epsilon up"));
}

}  // namespace
}  // namespace dpledger::accountant
