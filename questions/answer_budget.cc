#include "questions/answer_budget.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "events/grant_rules.h"
#include "events/names.h"
#include "questions/declaration_values.h"
#include "questions/held_run.h"

namespace dpledger::questions {
namespace {

// In an answer.
using accountant::filter::Tally;

constexpr int kMostGrants = 1000;
constexpr size_t kMostGrantBytes = size_t{1} << 20;

v1::LedgerReference ReferenceTo(const LedgerPart& budget) {
  v1::LedgerReference reference;
  reference.set_name(budget.name);
  reference.set_size(budget.size());
  reference.set_root_hash(merkle::ToBytes(budget.root));
  reference.set_dataset(budget.declaration().dataset());
  reference.set_unit_of_privacy(budget.declaration().unit_of_privacy());
  reference.set_state(budget.reader->sealed() ? v1::SEALED : v1::OPEN);
  return reference;
}

absl::Status CheckRequest(const LedgerPart& budget, const v1::ComputeBudgetRequest& request) {
  RETURN_IF_ERROR(events::CheckPlan(request.plan()));
  RETURN_IF_ERROR(events::CheckBlocks(request.blocks()));
  if (request.blocks_size() > 0 && budget.declaration().block_assignment().empty()) {
    return FieldError("blocks", "must be empty: the budget has no blocks");
  }
  if (!request.ledger().empty()) {
    RETURN_IF_ERROR(events::CheckLedgerName("ledger", request.ledger()));
  }
  if (budget.declaration().kind() == v1::BUDGET) return absl::OkStatus();
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("budget: ", budget.name, " is no budget")),
      {"NO_BUDGET", {{"field", "budget"}, {"ledger", budget.name}}});
}

// What each part uses of the filter, and what a budget sets aside of it, or a run has spent.
struct SetAside {
  UsesOfPart uses_of;
  HeldRun run;
};
absl::StatusOr<SetAside> SetAsideOf(const LedgerPart& ledger,
                                    const std::vector<const HistoryReader*>& prefixes,
                                    const accountant::Limits& limits, UsesMemo* memo) {
  const v1::Declaration& declaration = ledger.declaration();
  ASSIGN_OR_RETURN(const accountant::filter::Filter filter, FilterFromProto(declaration.filter()));
  ASSIGN_OR_RETURN(const accountant::Adjacency adjacency,
                   AdjacencyFromProto(declaration.adjacency()));
  SetAside aside = {UsesWithin(filter, adjacency, limits, memo), HeldRun(filter)};
  RETURN_IF_ERROR(aside.run.Begin(*ledger.reader, prefixes, aside.uses_of));
  return aside;
}

// ---- the noise that fits ----

constexpr double kMostTimes = 1e6;
constexpr double kNear = 1 + 1e-5;  // ends the search
constexpr absl::Duration kSearch = absl::Seconds(1);

// In its fourth digit.
double RoundedUp(double x) {
  const double unit = std::pow(10, std::floor(std::log10(x)) - 3);
  return std::ceil(x / unit * (1 - 1e-12)) * unit;
}

// The event with so many times the noise, at least. Absent: its noise is no such number.
std::optional<v1::Event> WithNoise(v1::Event event, double times) {
  if (event.has_rounds()) {
    for (v1::SumQuery& query : *event.mutable_rounds()->mutable_queries()) {
      // The noise multiplier is what people read; the sum's unit may be any.
      const double stddev =
          RoundedUp(query.noise_stddev() / query.l2_norm_bound() * times) * query.l2_norm_bound();
      query.set_noise_stddev(query.grid() > 0 ? std::ceil(stddev) : stddev);
    }
    return event;
  }
  v1::MechanismEvent& mechanism = *event.mutable_mechanism();
  const auto more = [&](auto& one) {
    one.set_noise_multiplier(RoundedUp(one.noise_multiplier() * times));
    return event;
  };
  if (mechanism.has_gaussian()) return more(*mechanism.mutable_gaussian());
  if (mechanism.has_laplace()) return more(*mechanism.mutable_laplace());
  return std::nullopt;
}

// What BudgetGrant `asked` would be last, to fit beside what `run` holds.
std::optional<v1::Event> WithMoreNoise(const HeldRun& run, v1::BudgetGrant asked,
                                       const UsesOfPart& uses_of) {
  if (asked.plan().empty()) return std::nullopt;
  v1::Event& last = *asked.mutable_plan(asked.plan_size() - 1);
  const v1::Event as_asked = last;
  const auto fits = [&](double times) {
    const std::optional<v1::Event> noisier = WithNoise(as_asked, times);
    if (!noisier.has_value()) return false;
    last = *noisier;
    v1::LedgerEntry entry;
    *entry.mutable_grant() = asked;
    const auto step = run.Take(entry, uses_of);
    return step.ok() && !run.CrossedIn(*step).has_value();
  };
  // Whatever does not fit on the way, what is returned was seen to.
  double low = 1, high = 2;
  while (!fits(high)) {
    low = high;
    if ((high *= 4) > kMostTimes) return std::nullopt;
  }
  while (high > low * kNear) {
    const double middle = std::sqrt(low * high);
    (fits(middle) ? high : low) = middle;
  }
  return WithNoise(as_asked, high);
}

// ---- the pace ----

constexpr uint64_t kMostDays = 36'525;  // a hundred years

// In how many days a block would be full that was `before` and is `now`; kMostDays: not by then.
uint64_t DaysLeft(const accountant::filter::Filter& filter, const Tally& before, const Tally& now,
                  double days) {
  const accountant::filter::Uses then = before.Total();
  accountant::filter::Uses a_day = now.Total();
  for (size_t i = 0; i < a_day.size(); ++i) {
    if (std::isfinite(a_day[i])) a_day[i] = std::fmax(0, a_day[i] - then[i]) / days;
  }
  if (a_day == accountant::filter::Uses(a_day.size(), 0)) return kMostDays;
  return now.MostThatHolds(a_day, kMostDays, [&](const Tally& sum) {
    return !Crossed(filter, SpentBy(filter, sum.Total()));
  });
}

google::protobuf::Timestamp ToProto(absl::Time time) {
  google::protobuf::Timestamp proto;
  proto.set_seconds(absl::ToUnixSeconds(time));
  return proto;
}

}  // namespace

absl::StatusOr<v1::ComputeBudgetResponse> AnswerBudget(const LedgerPart& budget,
                                                       const v1::ComputeBudgetRequest& request,
                                                       const accountant::Limits& limits,
                                                       UsesMemo* memo) {
  RETURN_IF_ERROR(CheckRequest(budget, request));
  ASSIGN_OR_RETURN(const SetAside aside, SetAsideOf(budget, {}, limits, memo));
  const HeldRun& run = aside.run;
  const accountant::filter::Filter& filter = run.filter();

  v1::ComputeBudgetResponse response;
  *response.mutable_budget() = ReferenceTo(budget);
  v1::FilterSpending& spending = *response.mutable_spending();
  spending.set_ledger(budget.name);
  spending.set_filter(Name(filter));
  spending.set_bound(BoundOf(filter));
  const auto shown = [&](double spent) { return SaidOf(filter, spent); };
  const auto add_blocks = [&](const Blocks& blocks, const Tally& sum) {
    const double spent = shown(SpentBy(filter, sum.Total()));
    if (spent == 0) return;
    v1::BlockSpending* last =
        response.blocks_size() > 0 ? response.mutable_blocks(response.blocks_size() - 1) : nullptr;
    if (last == nullptr || last->spent() != spent || last->blocks().last() + 1 != blocks.first) {
      last = response.add_blocks();
      last->set_spent(spent);
      last->mutable_blocks()->set_first(blocks.first);
    }
    last->mutable_blocks()->set_last(blocks.last);
  };
  if (run.terms().blocks > 1) run.levels().ForEach(add_blocks);
  spending.set_spent(shown(run.Spent()));
  if (const auto* mixture = std::get_if<accountant::filter::MixtureFilter>(&filter)) {
    spending.set_delta(mixture->delta);
  }
  size_t bytes = 0;
  const HistoryReader::Grants& grants = budget.reader->grants();
  for (const auto& [ledger, grant] : grants) {
    if (grant.plan().empty()) continue;  // given back
    response.set_grant_count(response.grant_count() + 1);
    bytes += grant.ByteSizeLong();
    if (response.grants_size() == kMostGrants || bytes > kMostGrantBytes) continue;
    *response.add_grants() = grant;
  }
  v1::LedgerEntry entry;
  v1::BudgetGrant& asked = *entry.mutable_grant();
  *asked.mutable_plan() = request.plan();
  asked.set_ledger(request.ledger());
  *asked.mutable_blocks() = request.blocks();
  if (const auto present = grants.find(request.ledger()); present != grants.end()) {
    if (!present->second.plan().empty()) *response.mutable_present_grant() = present->second;
    if (request.blocks().empty()) *asked.mutable_blocks() = present->second.blocks();
  }
  const v1::BudgetGrant grant = asked;
  ASSIGN_OR_RETURN(const HeldRun::Step step, run.Take(entry, aside.uses_of));
  response.set_spent_with_plan(shown(run.SpentAfter(step)));
  *response.mutable_retired_blocks() = budget.reader->retired().blocks();
  if (budget.reader->sealed()) return response;
  if (const auto retired = run.RetiredIn(step); retired.has_value()) {
    response.set_retired_block(*retired);
    return response;
  }
  response.set_fits(!run.CrossedIn(step).has_value());
  if (const auto left = run.RoundsLeft(step); left.has_value()) response.set_rounds_left(*left);
  if (response.fits()) return response;
  accountant::Limits brief = limits;
  brief.deadline = std::min(limits.deadline, absl::Now() + kSearch);
  ASSIGN_OR_RETURN(const accountant::Adjacency adjacency,
                   AdjacencyFromProto(budget.declaration().adjacency()));
  if (auto noisier = WithMoreNoise(run, grant, UsesWithin(filter, adjacency, brief, memo))) {
    *response.mutable_with_more_noise() = *std::move(noisier);
  }
  return response;
}

absl::StatusOr<bool> HoldsWhatIsSpent(const LedgerPart& run,
                                      const std::vector<const HistoryReader*>& prefixes,
                                      const v1::BudgetGrant& grant,
                                      const accountant::Limits& limits, UsesMemo* memo) {
  ASSIGN_OR_RETURN(const SetAside aside, SetAsideOf(run, prefixes, limits, memo));
  v1::LedgerEntry entry;
  entry.set_sequence(run.size());
  *entry.mutable_granted() = grant;
  ASSIGN_OR_RETURN(const HeldRun::Step step, aside.run.Take(entry, aside.uses_of));
  return !aside.run.IsOwed(step) && !aside.run.CrossedIn(step).has_value();
}

absl::StatusOr<v1::BudgetPace> PaceOf(const LedgerPart& budget, absl::Time now,
                                      const LedgerPart& earlier, absl::Time then,
                                      const accountant::Limits& limits, UsesMemo* memo) {
  ASSIGN_OR_RETURN(const SetAside aside_then, SetAsideOf(earlier, {}, limits, memo));
  ASSIGN_OR_RETURN(const SetAside aside_now, SetAsideOf(budget, {}, limits, memo));
  const HeldRun &before = aside_then.run, &present = aside_now.run;
  const accountant::filter::Filter& filter = present.filter();
  v1::BudgetPace pace;
  *pace.mutable_since() = ToProto(then);
  pace.set_spent_before(SaidOf(filter, before.Spent()));
  // Between two of these numbers, both are level.
  std::set<uint32_t> firsts;
  for (const HeldRun* run : {&before, &present}) {
    run->levels().ForEach([&](const Blocks& blocks, const Tally&) { firsts.insert(blocks.first); });
  }
  uint64_t left = kMostDays;
  for (const uint32_t block : firsts) {
    RETURN_IF_ERROR(limits.Check());
    left = std::min(left, DaysLeft(filter, before.levels().At(block), present.levels().At(block),
                                   absl::FDivDuration(now - then, absl::Hours(24))));
  }
  if (left < kMostDays) *pace.mutable_runs_out() = ToProto(now + absl::Hours(24) * left);
  return pace;
}

}  // namespace dpledger::questions
