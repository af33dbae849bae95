#include "accountant/mechanism/history.h"

#include <cmath>
#include <limits>
#include <random>

#include "gmock/gmock.h"

namespace dpledger::accountant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

SamplingEvent Sampling(uint64_t round, double probability) {
  return {round, {0, PoissonSampling{probability}}};
}
SumQueryEvent Sum(uint64_t round, double stddev, const std::string& group = "") {
  return {round, {group, 1, stddev}};
}
Round RoundOf(decltype(SamplingScheme::kind) kind, std::vector<SumQuery> queries = {{"", 1, 1}}) {
  return {{0, kind}, std::move(queries)};
}

std::vector<uint64_t> Counts(const History& history) {
  std::vector<uint64_t> counts;
  for (const auto& counted : history.Rounds()) counts.push_back(counted.count);
  return counts;
}
// Counts of `a` and `b` after both were added to one history: one number if they are one round,
// else two.
std::vector<uint64_t> Together(const Round& a, const Round& b) {
  History history;
  history.Add("w", RoundsEvent{a, 3});
  history.Add("w", RoundsEvent{b, 4});
  return Counts(history);
}

TEST(History, GroupsEqualRounds) {
  History history;
  for (uint64_t round = 0; round < 10; ++round) {
    history.Add("w", Sampling(round, 0.5));
    history.Add("w", Sum(round, 2));
  }
  history.Add("w", RoundsEvent{RoundOf(PoissonSampling{0.5}, {{"", 1, 2}}), 5});
  EXPECT_THAT(Counts(history), ElementsAre(15));
  EXPECT_EQ(history.RoundCount(), 15u);
}

TEST(History, OpenRoundCountsAsItStands) {
  History history;
  history.Add("w", Sampling(1, 0.5));
  EXPECT_THAT(history.Rounds(), IsEmpty());
  history.Add("w", Sum(1, 2));
  ASSERT_EQ(history.Rounds().size(), 1u);
  EXPECT_EQ(history.Rounds()[0].round.queries.size(), 1u);
  history.Add("w", Sum(1, 3));
  ASSERT_EQ(history.Rounds().size(), 1u);
  EXPECT_EQ(history.Rounds()[0].round.queries.size(), 2u);
  EXPECT_EQ(history.RoundCount(), 1u);
}

TEST(History, RoundWithoutQueriesReleasedNothing) {
  History history;
  history.Add("w", Sampling(1, 0.5));
  history.Add("w", Sampling(2, 0.5));
  history.Add("w", Sum(2, 1));
  EXPECT_THAT(Counts(history), ElementsAre(1));
  EXPECT_EQ(history.RoundCount(), 1u);
}

TEST(History, QueryWithoutSamplingIsUnsampled) {
  History history;
  history.Add("w", Sampling(1, 0.5));
  history.Add("w", Sum(1, 1));
  history.Add("w", Sum(2, 1));
  history.Add("w", Sum(2, 1));
  ASSERT_THAT(Counts(history), UnorderedElementsAre(1, 1));
  for (const auto& counted : history.Rounds()) {
    const bool sampled = counted.round.queries.size() == 1;
    EXPECT_EQ(SchemeName(counted.round.scheme), sampled ? "poisson" : "full_batch");
  }
}

// The store refuses it; here it must at least not lose or cheapen what was released before.
TEST(History, SecondSampleOfARoundStartsAnother) {
  History history;
  history.Add("w", Sum(1, 1));
  history.Add("w", Sampling(1, 0.5));
  history.Add("w", Sum(1, 1));
  EXPECT_THAT(Counts(history), UnorderedElementsAre(1, 1));
}

TEST(History, WritersInterleaveAndKeepTheirRounds) {
  History history;
  history.Add("a", Sampling(7, 0.5));
  history.Add("b", Sampling(7, 0.25));
  history.Add("a", Sum(7, 1));
  history.Add("b", Sum(7, 1));
  history.Add("a", Sum(7, 1));
  ASSERT_EQ(history.Rounds().size(), 2u);
  for (const auto& counted : history.Rounds()) {
    const double q = std::get<PoissonSampling>(counted.round.scheme.kind).probability;
    EXPECT_EQ(counted.round.queries.size(), q == 0.5 ? 2u : 1u);
  }
}

TEST(History, OrderAndGroupNamesOfQueriesDoNotMatter) {
  EXPECT_THAT(Together(RoundOf(FullBatch{}, {{"a", 1, 2}, {"b", 3, 4}}),
                       RoundOf(FullBatch{}, {{"x", 3, 4}, {"y", 1, 2}})),
              ElementsAre(7));
}

TEST(History, RoundsThatDifferInAnythingThatCostsStayApart) {
  const double next = std::nextafter(2.0, 3.0);
  const std::pair<Round, Round> different[] = {
      {RoundOf(FullBatch{}, {{"", 1, 2}}), RoundOf(FullBatch{}, {{"", 1, next}})},
      {RoundOf(FullBatch{}, {{"", 2, 1}}), RoundOf(FullBatch{}, {{"", next, 1}})},
      {RoundOf(FullBatch{}, {{"", 1, 2}}), RoundOf(FullBatch{}, {{"", 2, 1}})},
      {RoundOf(FullBatch{}, {{"", 1, 2}}), RoundOf(FullBatch{}, {{"", 1, 2}, {"", 1, 2}})},
      {RoundOf(FullBatch{}, {{"", 1, 2, NoiseKind::kGaussian}}),
       RoundOf(FullBatch{}, {{"", 1, 2, NoiseKind::kDiscreteGaussian}})},
      {RoundOf(FullBatch{}, {{"", 1, 2, NoiseKind::kRoundedGaussian, 1}}),
       RoundOf(FullBatch{}, {{"", 1, 2, NoiseKind::kRoundedGaussian, 2}})},
      {RoundOf(FullBatch{}), RoundOf(PoissonSampling{1})},
      {RoundOf(PoissonSampling{0.5}), RoundOf(PoissonSampling{std::nextafter(0.5, 1)})},
      {RoundOf(WithReplacement{3}), RoundOf(WithoutReplacement{3})},
      {RoundOf(WithReplacement{3}), RoundOf(WithReplacement{4})},
      {RoundOf(DisjointBatches{3, 0}), RoundOf(DisjointBatches{3, 1})},
      {RoundOf(DisjointBatches{3, 0}), RoundOf(DisjointBatches{4, 0})},
      {RoundOf(DisjointBatches{3, 0}), RoundOf(RandomAllocation{3, 0})},
      {RoundOf(RandomAllocation{3, 0}), RoundOf(RandomAllocation{3, 1})},
      {RoundOf(TruncatedPoisson{0.5, 3}), RoundOf(TruncatedPoisson{0.5, 4})},
      {RoundOf(TruncatedPoisson{0.5, 3}), RoundOf(TruncatedPoisson{0.25, 3})},
      {{{8, WithReplacement{3}}, {{"", 1, 1}}}, {{9, WithReplacement{3}}, {{"", 1, 1}}}},
  };
  for (const auto& [a, b] : different) {
    EXPECT_THAT(Together(a, b), UnorderedElementsAre(3, 4)) << SchemeName(a.scheme);
    EXPECT_THAT(Together(a, a), ElementsAre(7)) << SchemeName(a.scheme);
    EXPECT_THAT(Together(b, b), ElementsAre(7)) << SchemeName(b.scheme);
  }
}

TEST(History, CountsBeyond64BitsAreCarriedOn) {
  History history;
  history.Add("w", RoundsEvent{RoundOf(FullBatch{}), kMost});
  history.Add("w", RoundsEvent{RoundOf(FullBatch{}), 5});
  EXPECT_THAT(Counts(history), UnorderedElementsAre(kMost, 5));
  EXPECT_EQ(history.RoundCount(), kMost);
}

TEST(History, KeepsMechanismsInOrder) {
  History history;
  history.Add("w", Mechanism{2, Gaussian{1}});
  history.Add("w", Mechanism{3, NonPrivate{}});
  ASSERT_EQ(history.Mechanisms().size(), 2u);
  EXPECT_EQ(history.Mechanisms()[0].count, 2u);
  EXPECT_EQ(history.Mechanisms()[1].count, 3u);
  EXPECT_EQ(history.RoundCount(), 0u);
}

TEST(History, MergeAddsEverythingAndClosesOpenRounds) {
  History a;
  a.Add("w", Sampling(1, 0.5));
  a.Add("w", Sum(1, 1));
  a.Add("w", Mechanism{1, NoOp{}});
  History b = a;  // the same writer's name and round number, in another ledger
  b.Add("w", Sum(1, 1));
  a.Merge(b);
  EXPECT_EQ(a.RoundCount(), 2u);
  EXPECT_EQ(a.Mechanisms().size(), 2u);
  // a's own round is open still, b's is not.
  a.Add("w", Sum(1, 1));
  EXPECT_THAT(Counts(a), ElementsAre(2));
  a.Merge(a);
  EXPECT_THAT(Counts(a), ElementsAre(4));
  EXPECT_EQ(a.Mechanisms().size(), 4u);
}

TEST(History, WritersOfOneFamilyAreOneAndTheirEpochsAreNot) {
  History one;
  one.Add("w#1", SamplingEvent{1, {0, RandomAllocation{5, 0}}});
  one.Add("w#1", Sum(1, 1));
  History of_family, of_none;
  for (int i = 0; i < 2; ++i) {
    of_family.Merge(one, "parent");
    of_none.Merge(one);
  }
  const auto family = of_family.Rounds(), none = of_none.Rounds();
  ASSERT_EQ(family.size(), 2u);
  ASSERT_EQ(none.size(), 2u);
  EXPECT_EQ(History::WriterOf(family[0].writer), History::WriterOf(family[1].writer));
  EXPECT_NE(family[0].writer, family[1].writer);
  EXPECT_NE(History::WriterOf(none[0].writer), History::WriterOf(none[1].writer));
}

// Invariant 1 on random streams: the counts are the rounds that released something, however they
// were written.
TEST(History, LosesNothing) {
  std::mt19937_64 random(7);
  History history;
  uint64_t released = 0;
  uint64_t next_round = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string writer(1, static_cast<char>('a' + random() % 3));
    const double stddev = 1 + static_cast<double>(random() % 4);
    if (random() % 2 == 0) {
      const uint64_t count = 1 + random() % 9;
      history.Add(writer, RoundsEvent{RoundOf(FullBatch{}, {{"", 1, stddev}}), count});
      released += count;
      continue;
    }
    history.Add(writer, Sampling(++next_round, 0.5));
    const uint64_t queries = random() % 3;
    for (uint64_t q = 0; q < queries; ++q) history.Add(writer, Sum(next_round, stddev));
    released += queries > 0 ? 1 : 0;
  }
  uint64_t counted = 0;
  for (const auto& round : history.Rounds()) counted += round.count;
  EXPECT_EQ(counted, released);
  EXPECT_EQ(history.RoundCount(), released);
}

}  // namespace
}  // namespace dpledger::accountant
