#include "questions/grant_plan.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/status.h"
#include "events/event_values.h"
#include "events/field_checks.h"

namespace dpledger::questions {
namespace {

using accountant::Event;
using accountant::History;
using accountant::Mechanism;
using accountant::RoundsEvent;

uint64_t EpochLength(const accountant::SamplingScheme& scheme) {
  const auto epoch = EpochOf(scheme);
  return epoch.has_value() ? epoch->rounds : 1;
}

RoundsEvent WholeEpochs(RoundsEvent rounds) {
  rounds.round.scheme = WithoutNumber(std::move(rounds.round.scheme));
  const uint64_t length = EpochLength(rounds.round.scheme);
  rounds.count = rounds.count / length + (rounds.count % length != 0);
  rounds.count *= length;
  return rounds;
}

// The mechanism with the count of all that equal it.
void AddTo(std::vector<Mechanism>& mechanisms, const Mechanism& more) {
  const auto same = std::find_if(mechanisms.begin(), mechanisms.end(),
                                 [&](const Mechanism& other) { return other.kind == more.kind; });
  if (same == mechanisms.end()) {
    mechanisms.push_back(more);
  } else {
    same->count += more.count;
  }
}

bool IsOfOneKind(const Event& a, const Event& b) {
  const auto* rounds = std::get_if<RoundsEvent>(&a);
  const auto* others = std::get_if<RoundsEvent>(&b);
  if (rounds == nullptr || others == nullptr) {
    return a.index() == b.index() && std::get<Mechanism>(a).kind == std::get<Mechanism>(b).kind;
  }
  History both;
  both.Add("", WholeEpochs(*rounds));
  both.Add("", WholeEpochs(*others));
  return both.Rounds().size() == 1;
}

std::vector<Event> EventsOf(const History& history) {
  History whole;
  for (const History::CountedRound& counted : history.Rounds()) {
    whole.Add("", WholeEpochs({counted.round, counted.count}));
  }
  std::vector<Event> events;
  for (const History::CountedRound& counted : whole.Rounds()) {
    events.push_back(RoundsEvent{counted.round, counted.count});
  }
  std::vector<Mechanism> mechanisms;
  for (const Mechanism& mechanism : history.Mechanisms()) AddTo(mechanisms, mechanism);
  events.insert(events.end(), mechanisms.begin(), mechanisms.end());
  return events;
}

Plan Messages(const std::vector<Event>& events) {
  Plan plan;
  for (const Event& event : events) events::ToMessage(event, plan.emplace_back());
  return plan;
}

}  // namespace

accountant::SamplingScheme WithoutNumber(accountant::SamplingScheme scheme) {
  if (auto* batches = std::get_if<accountant::DisjointBatches>(&scheme.kind)) batches->epoch = 0;
  if (auto* bins = std::get_if<accountant::RandomAllocation>(&scheme.kind)) bins->epoch = 0;
  return scheme;
}

Plan PlanOf(const History& history) { return Messages(EventsOf(history)); }

absl::StatusOr<Plan> PlanWith(const Plan& present, const Plan& more) {
  History both;
  std::vector<Event> last;
  for (const auto& [field, plan] : {std::pair("present", &present), std::pair("plan", &more)}) {
    for (size_t i = 0; i < plan->size(); ++i) {
      absl::StatusOr<Event> event = events::ValueOf((*plan)[i]);
      if (!event.ok()) {
        return events::Within(events::Element(field, static_cast<int>(i)), event.status());
      }
      both.Add("", *event);
      last = {*std::move(event)};
    }
  }
  std::vector<Event> events = EventsOf(both);
  if (!last.empty()) {
    std::stable_partition(events.begin(), events.end(),
                          [&](const Event& event) { return !IsOfOneKind(event, last[0]); });
  }
  return Messages(events);
}

}  // namespace dpledger::questions
