// Plans of grants, from what a run holds and from what is asked for beside a plan.
#include "questions/grant_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "events/event_values.h"

namespace dpledger::questions {
namespace {

using accountant::Event;
using accountant::History;
using accountant::Mechanism;
using accountant::Round;
using accountant::RoundsEvent;
using accountant::SamplingEvent;
using accountant::SamplingScheme;
using accountant::SumQueryEvent;

const SamplingScheme kPoisson = {0, accountant::PoissonSampling{0.1}};
SamplingScheme Batches(uint64_t epoch) { return {0, accountant::DisjointBatches{4, epoch}}; }

Round Of(const SamplingScheme& scheme, double stddev, const std::string& group = "g") {
  return {scheme, {{group, 1, stddev}}};
}
Plan Messages(const std::vector<Event>& events) {
  Plan plan;
  for (const Event& event : events) events::ToMessage(event, plan.emplace_back());
  return plan;
}
std::string Text(const Plan& plan) {
  std::string text;
  for (const v1::Event& event : plan) text += event.ShortDebugString() + "\n";
  return text;
}
void AddRounds(const Round& round, uint64_t first, uint64_t count, History& history) {
  for (uint64_t i = 0; i < count; ++i) {
    history.Add("w", SamplingEvent{first + i, round.scheme});
    for (const auto& query : round.queries) history.Add("w", SumQueryEvent{first + i, query});
  }
}

TEST(GrantPlan, EqualRoundsAndMechanismsAreOneEvent) {
  History history;
  AddRounds(Of(kPoisson, 2), 0, 3, history);
  history.Add("other", RoundsEvent{Of(kPoisson, 2, "another label"), 5});
  history.Add("w", Mechanism{2, accountant::Laplace{3}});
  history.Add("other", Mechanism{1, accountant::Laplace{3}});
  history.Add("other", Mechanism{1, accountant::Laplace{4}});
  EXPECT_EQ(Text(PlanOf(history)),
            Text(Messages({RoundsEvent{Of(kPoisson, 2), 8}, Mechanism{3, accountant::Laplace{3}},
                           Mechanism{1, accountant::Laplace{4}}})));
  EXPECT_TRUE(PlanOf(History()).empty());
}

TEST(GrantPlan, AnEpochBegunIsWhole) {
  History history;
  AddRounds(Of(Batches(0), 2), 0, 4, history);
  AddRounds(Of(Batches(1), 2), 4, 1, history);
  history.Add("other", RoundsEvent{Of(Batches(1), 2), 8});  // two more
  EXPECT_EQ(Text(PlanOf(history)), Text(Messages({RoundsEvent{Of(Batches(0), 2), 16}})));
  // What differs within an epoch is an epoch of each.
  AddRounds(Of(Batches(1), 3), 5, 1, history);
  EXPECT_EQ(
      Text(PlanOf(history)),
      Text(Messages({RoundsEvent{Of(Batches(0), 2), 16}, RoundsEvent{Of(Batches(0), 3), 4}})));
}

TEST(GrantPlan, MoreIsAddedToItsKindWhichIsLast) {
  const Plan present =
      Messages({RoundsEvent{Of(kPoisson, 2), 10}, RoundsEvent{Of(Batches(0), 2), 8},
                Mechanism{1, accountant::Laplace{3}}});
  const auto with = [&](const Event& more) {
    const auto plan = PlanWith(present, Messages({more}));
    EXPECT_TRUE(plan.ok()) << plan.status();
    return Text(plan.value_or(Plan()));
  };
  EXPECT_EQ(with(RoundsEvent{Of(kPoisson, 2, "label"), 5}),
            Text(Messages({RoundsEvent{Of(Batches(0), 2), 8}, Mechanism{1, accountant::Laplace{3}},
                           RoundsEvent{Of(kPoisson, 2), 15}})));
  EXPECT_EQ(with(RoundsEvent{Of(Batches(3), 2), 4}),
            Text(Messages({RoundsEvent{Of(kPoisson, 2), 10}, Mechanism{1, accountant::Laplace{3}},
                           RoundsEvent{Of(Batches(0), 2), 12}})));
  EXPECT_EQ(with(Mechanism{2, accountant::Laplace{3}}),
            Text(Messages({RoundsEvent{Of(kPoisson, 2), 10}, RoundsEvent{Of(Batches(0), 2), 8},
                           Mechanism{3, accountant::Laplace{3}}})));
  EXPECT_EQ(
      with(RoundsEvent{Of(kPoisson, 3), 1}),
      Text(Messages({RoundsEvent{Of(kPoisson, 2), 10}, RoundsEvent{Of(Batches(0), 2), 8},
                     Mechanism{1, accountant::Laplace{3}}, RoundsEvent{Of(kPoisson, 3), 1}})));
  EXPECT_EQ(Text(*PlanWith(Plan(), present)), Text(present));
  EXPECT_EQ(Text(*PlanWith(present, Plan())), Text(present));
}

}  // namespace
}  // namespace dpledger::questions
