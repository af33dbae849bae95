// What is left of a plan is charged as rounds of the costliest kind so far.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accountant/accountant.h"
#include "questions/answers.h"

namespace dpledger::questions {
namespace {

struct Kind {
  accountant::SamplingScheme scheme;
  double stddev;
  uint64_t count;
};

accountant::History Of(const std::vector<Kind>& kinds) {
  accountant::History history;
  for (const Kind& kind : kinds)
    history.Add("w", accountant::RoundsEvent{{kind.scheme, {{"g", 1, kind.stddev}}}, kind.count});
  return history;
}

v1::ComputeEpsilonResponse Answer(const std::vector<Kind>& kinds, uint64_t planned,
                                  v1::Adjacency adjacency) {
  Subject subject;
  subject.history = Of(kinds);
  subject.adjacency = adjacency;
  subject.parameters = v1::FIXED;
  subject.planned_rounds = planned;
  v1::ComputeEpsilonRequest request;
  request.set_delta(1e-5);
  const auto answer = Answer(subject, request, {});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return *answer;
}

double Upper(const std::vector<Kind>& kinds, accountant::Adjacency adjacency) {
  return accountant::ComputeEpsilon(*accountant::Resolve(Of(kinds), adjacency), 1e-5, {})
      ->value.upper();
}

const accountant::SamplingScheme kPoisson = {0, accountant::PoissonSampling{0.1}};

TEST(Plan, IsExtendedByTheCostliestKindOfRound) {
  const Kind noisy{kPoisson, 4, 3}, middle{kPoisson, 2, 5}, costly{kPoisson, 1, 2};
  for (const std::vector<Kind>& kinds : {std::vector<Kind>{noisy, middle, costly},
                                         {costly, noisy, middle},
                                         {middle, costly, noisy}}) {
    const auto answer = Answer(kinds, 50, v1::ADD_OR_REMOVE_ONE);
    const auto add = accountant::Adjacency::kAddOrRemoveOne;
    EXPECT_EQ(answer.epsilon().upper(), Upper(kinds, add));
    EXPECT_EQ(answer.planned_epsilon().upper(), Upper({noisy, middle, {kPoisson, 1, 42}}, add));
  }
}

// A smaller sample of less noise costs more: no parameter alone says which kind it is.
TEST(Plan, LooksAtTheCostOfAKindNotAtItsNoise) {
  const Kind rare{{0, accountant::PoissonSampling{0.001}}, 0.8, 5},
      common{{0, accountant::PoissonSampling{0.5}}, 1.5, 5};
  const auto answer = Answer({rare, common}, 100, v1::ADD_OR_REMOVE_ONE);
  const double expected =
      Upper({rare, {common.scheme, 1.5, 95}}, accountant::Adjacency::kAddOrRemoveOne);
  EXPECT_EQ(answer.planned_epsilon().upper(), expected);
}

TEST(Plan, KindsKnownByPairsAreComparedToo) {
  const Kind batch{{100, accountant::WithoutReplacement{10}}, 1, 4},
      whole{{0, accountant::FullBatch{}}, 30, 4};
  const auto answer = Answer({whole, batch}, 20, v1::REPLACE_ONE);
  const double expected = Upper({whole, {batch.scheme, 1, 16}}, accountant::Adjacency::kReplaceOne);
  EXPECT_EQ(answer.planned_epsilon().upper(), expected);
}

TEST(Plan, ThatIsMetOrUnknownAddsNothing) {
  const Kind rounds{kPoisson, 1, 20};
  EXPECT_FALSE(Answer({rounds}, 20, v1::ADD_OR_REMOVE_ONE).has_planned_epsilon());
  EXPECT_FALSE(Answer({rounds}, 0, v1::ADD_OR_REMOVE_ONE).has_planned_epsilon());
  EXPECT_TRUE(Answer({rounds}, 21, v1::ADD_OR_REMOVE_ONE).has_planned_epsilon());
}

}  // namespace
}  // namespace dpledger::questions
