#include "questions/held_run.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/declaration_rules.h"
#include "events/grant_rules.h"
#include "events/writer_rules.h"
#include "questions/given_events.h"
#include "questions/grant_plan.h"

namespace dpledger::questions {
namespace {

using accountant::History;
using accountant::Round;
using accountant::SamplingScheme;
using accountant::filter::Tally;
using accountant::filter::Uses;

// What rounding may hide: the filter's own sum rounds up at each of its steps, this one does not.
// It covers 10^5 kinds of rounds.
constexpr double kMargin = 1e-10;

bool IsQuick(const SamplingScheme& scheme) {
  return std::holds_alternative<accountant::FullBatch>(scheme.kind) ||
         std::holds_alternative<accountant::PoissonSampling>(scheme.kind) ||
         std::holds_alternative<accountant::DisjointBatches>(scheme.kind);
}

absl::StatusOr<Uses> UsesOfRounds(const std::vector<History::CountedRound>& rounds,
                                  const UsesOfPart& uses_of) {
  std::string key;
  bool quick = true;
  for (const History::CountedRound& counted : rounds) {
    AppendKey(counted.round.scheme, key);
    AppendKey(counted.round.queries, key);
    accountant::AppendWord(counted.count, key);
    quick = quick && IsQuick(counted.round.scheme);
  }
  const auto history = [&rounds] { return History::FromParts({rounds, {}, {}}); };
  return uses_of({std::move(key), quick, history});
}

absl::StatusOr<Uses> UsesOfMechanism(const accountant::Mechanism& mechanism,
                                     const UsesOfPart& uses_of) {
  std::string key = "mechanism ";
  AppendKey(mechanism, key);
  const auto history = [&mechanism] { return History::FromParts({{}, {}, {mechanism}}); };
  return uses_of(
      {std::move(key), std::holds_alternative<accountant::Gaussian>(mechanism.kind), history});
}

// The rounds of one epoch.
struct EpochRounds {
  uint64_t length = 0, number = 0;  // of the epoch
  std::vector<History::CountedRound> closed;
  std::optional<Round> open;

  uint64_t count() const {
    uint64_t total = open.has_value() && !open->queries.empty() ? 1 : 0;
    for (const History::CountedRound& counted : closed) {
      total = std::min(total + counted.count, uint64_t{1} << 60);
    }
    return total;
  }
};

// Adds what an epoch costs: the whole of it, once it has begun.
absl::Status AddEpoch(const EpochRounds& epoch, const UsesOfPart& uses_of, Tally& into) {
  std::vector<History::CountedRound> rounds = epoch.closed;
  if (epoch.open.has_value()) rounds.push_back({*epoch.open, 1, ""});
  for (History::CountedRound& counted : rounds) {
    counted.round.scheme = WithoutNumber(std::move(counted.round.scheme));
    counted.writer.clear();
  }
  rounds = History::FromParts({std::move(rounds), {}, {}}).Rounds();
  const bool all_whole = std::all_of(rounds.begin(), rounds.end(), [&](const auto& counted) {
    return counted.count % epoch.length == 0;
  });
  if (rounds.size() > 1 && !all_whole) {
    ASSIGN_OR_RETURN(const Uses uses, UsesOfRounds(rounds, uses_of));
    into.Add(uses, 1);
    return absl::OkStatus();
  }
  for (History::CountedRound& counted : rounds) {
    const uint64_t times = (counted.count - 1) / epoch.length + 1;
    counted.count = epoch.length;
    ASSIGN_OR_RETURN(const Uses uses, UsesOfRounds({counted}, uses_of));
    into.Add(uses, times);
  }
  return absl::OkStatus();
}

absl::StatusOr<Uses> AddRound(Round round, uint64_t count, const UsesOfPart& uses_of, Tally& into) {
  std::vector<History::CountedRound> one(1);
  one[0] = {std::move(round), 1, ""};
  ASSIGN_OR_RETURN(Uses uses, UsesOfRounds(one, uses_of));
  into.Add(uses, count);
  return uses;
}

void TakeTerms(const v1::Declaration& declaration, HeldRun::Terms& terms) {
  terms.policy = declaration.spool_policy();
  terms.is_budget = declaration.kind() == v1::BUDGET;
  terms.blocks = declaration.block_assignment().empty() ? 1 : events::kMostBlocks;
  terms.under_budget = !declaration.budget().empty();
}

// A run that is sealed gives back what it has not spent, unless writers are missing.
void TakeSeal(const HistoryReader& reader, const Tally& spent, HeldRun::Terms& terms) {
  if (!reader.sealed() || !terms.under_budget) return;
  terms.keeps_grant = !reader.seal().was_whole;
  if (!terms.keeps_grant) terms.granted = spent;
}

}  // namespace

size_t HeldRun::Step::Kept::kinds() const {
  size_t kinds = planned;
  for (const History::CountedRound& counted : open.closed) kinds += counted.round.queries.size();
  for (const auto& [owner, round] : open.open) kinds += 1 + round.round.queries.size();
  return kinds;
}

size_t HeldRun::Step::Kept::bytes() const {
  constexpr size_t kWriterBytes = 1024, kKindBytes = 256;
  return kWriterBytes + kKindBytes * kinds();
}

HeldRun::HeldRun(const accountant::filter::Filter& filter)
    : filter_(filter), total_(MeasuresOf(filter)), levels_(MeasuresOf(filter), 1) {
  terms_.granted = Tally(MeasuresOf(filter));
}

// Settles what can be, and keeps the rest.
absl::StatusOr<HeldRun::Step::Kept> HeldRun::Keep(Parts parts, v1::WriterStatus status,
                                                  const UsesOfPart& uses_of, Step& into) const {
  const std::string present = events::EpochOwner(status);
  Step::Kept kept = {std::move(status), {}, Tally(MeasuresOf(filter_))};
  for (const accountant::Mechanism& mechanism : parts.mechanisms) {
    ASSIGN_OR_RETURN(into.one_more, UsesOfMechanism(mechanism, uses_of));
    into.total.Add(*into.one_more, 1);
  }
  std::map<std::pair<std::string, std::string>, EpochRounds> epochs;  // by owner and scheme
  const auto epoch_of = [&](const std::string& owner, const SamplingScheme& scheme) {
    const auto epoch = accountant::EpochOf(scheme);
    std::string key;
    AppendKey(scheme, key);
    EpochRounds& rounds = epochs[{owner, key}];
    std::tie(rounds.length, rounds.number) = std::pair(epoch->rounds, epoch->number);
    return &rounds;
  };
  for (History::CountedRound& counted : parts.closed) {
    if (accountant::EpochOf(counted.round.scheme).has_value()) {
      epoch_of(counted.writer, counted.round.scheme)->closed.push_back(std::move(counted));
      continue;
    }
    ASSIGN_OR_RETURN(into.one_more,
                     AddRound(std::move(counted.round), counted.count, uses_of, into.total));
  }
  kept.open.open = parts.open;
  for (auto& [owner, open] : parts.open) {
    if (accountant::EpochOf(open.round.scheme).has_value()) {
      epoch_of(owner, open.round.scheme)->open = std::move(open.round);
    } else if (!open.round.queries.empty()) {
      ASSIGN_OR_RETURN(into.one_more, AddRound(std::move(open.round), 1, uses_of, kept.used));
    }
  }
  // Numbers do not go back: an epoch behind the greatest was left before its end.
  const EpochRounds* last = nullptr;
  for (const auto& [key, epoch] : epochs) {
    const bool goes_on = key.first == present && epoch.count() % epoch.length != 0;
    if (goes_on && (last == nullptr || epoch.number > last->number)) last = &epoch;
  }
  for (const auto& [key, epoch] : epochs) {
    const bool stays = &epoch == last || epoch.open.has_value();
    RETURN_IF_ERROR(AddEpoch(epoch, uses_of, stays ? kept.used : into.total));
    if (!stays) continue;
    kept.open.closed.insert(kept.open.closed.end(), epoch.closed.begin(), epoch.closed.end());
  }
  into.total.Add(kept.used);
  return kept;
}

absl::StatusOr<HeldRun::Step> HeldRun::PlanOf(const v1::BudgetGrant& grant,
                                              const UsesOfPart& uses_of) const {
  Step plan;
  plan.total = Tally(MeasuresOf(filter_));
  v1::BudgetGrant part = grant;
  if (grant.plan_size() > 0) part.mutable_plan()->RemoveLast();
  ASSIGN_OR_RETURN(const History rest, HistoryOfPlan(part));
  RETURN_IF_ERROR(Keep(rest.ToParts(), {}, uses_of, plan).status());
  plan.rest = plan.total;
  plan.one_more.reset();
  if (grant.plan_size() > 0) {
    part.mutable_plan()->Clear();
    *part.add_plan() = *grant.plan().rbegin();
    ASSIGN_OR_RETURN(const History last, HistoryOfPlan(part));
    RETURN_IF_ERROR(Keep(last.ToParts(), {}, uses_of, plan).status());
    if (!part.plan(0).has_rounds()) plan.one_more.reset();
  }
  plan.total.Widen();
  plan.rest.Widen();
  return plan;
}

absl::Status HeldRun::Begin(const HistoryReader& own,
                            const std::vector<const HistoryReader*>& prefixes,
                            const UsesOfPart& uses_of) {
  Step step;
  step.total = total_;
  TakeTerms(events::DeclarationOf(own.first()), terms_);
  terms_.retired = own.retired();
  levels_ = BlockLevels(MeasuresOf(filter_), terms_.blocks);
  for (const auto& [ledger, grant] : own.grants()) {
    ASSIGN_OR_RETURN(Step plan, PlanOf(grant, uses_of));
    if (terms_.is_budget) {
      if (grant.plan().empty()) continue;
      Step::Kept& kept = writers_[ledger];
      kept = {{},
              {},
              std::move(plan.total),
              static_cast<size_t>(grant.plan_size()),
              BlocksOf(grant, levels_.all())};
      levels_.Add(kept.blocks, kept.used);
      bytes_ += kept.bytes();
    } else {
      terms_.granted = std::move(plan.total);
    }
  }
  for (const HistoryReader* prefix : prefixes) {
    if (terms_.under_budget) break;
    Parts parts = prefix->history().ToParts();
    // A fork's writers are others: nothing is added to what was open.
    for (auto& [owner, open] : parts.open) {
      if (!open.round.queries.empty()) parts.closed.push_back({open.round, 1, owner});
    }
    parts.open.clear();
    RETURN_IF_ERROR(Keep(std::move(parts), {}, uses_of, step).status());
  }
  std::map<std::string, Parts, std::less<>> by_writer;
  Parts all = own.history().ToParts();
  by_writer[""].mechanisms = std::move(all.mechanisms);
  for (History::CountedRound& counted : all.closed) {
    by_writer[std::string(History::WriterOf(counted.writer))].closed.push_back(std::move(counted));
  }
  for (auto& [owner, open] : all.open) {
    by_writer[std::string(History::WriterOf(owner))].open[owner] = std::move(open);
  }
  for (const auto& [name, status] : own.writers()) by_writer.try_emplace(name);
  for (auto& [name, parts] : by_writer) {
    v1::WriterStatus status;
    status.set_writer(name);
    if (const auto known = own.writers().find(name); known != own.writers().end()) {
      status = known->second;
    }
    ASSIGN_OR_RETURN(Step::Kept kept, Keep(std::move(parts), std::move(status), uses_of, step));
    bytes_ += kept.bytes();
    writers_[name] = std::move(kept);
  }
  total_ = step.total;
  size_ = own.size();
  TakeSeal(own, total_, terms_);
  return absl::OkStatus();
}

absl::StatusOr<HeldRun::Step> HeldRun::TakeGrant(const v1::BudgetGrant& grant,
                                                 const UsesOfPart& uses_of) const {
  ASSIGN_OR_RETURN(Step step, PlanOf(grant, uses_of));
  step.writer = grant.ledger();
  step.terms = terms_;
  step.size = size_ + 1;
  if (grant.plan_size() > 0) {
    step.kept = {
        {}, {}, step.total, static_cast<size_t>(grant.plan_size()), BlocksOf(grant, levels_.all())};
  }
  return step;
}

HeldRun HeldRun::Only(const std::string& writer) const {
  HeldRun only(filter_);
  only.size_ = size_;
  only.total_ = total_;
  only.terms_ = terms_;
  if (const auto kept = writers_.find(writer); kept != writers_.end()) only.writers_.insert(*kept);
  return only;
}

absl::StatusOr<HeldRun::Step> HeldRun::Take(const std::vector<std::string_view>& entries,
                                            const UsesOfPart& uses_of) const {
  v1::LedgerEntry first;
  if (!first.ParseFromArray(entries.at(0).data(), static_cast<int>(entries[0].size()))) {
    return absl::DataLossError("an entry's bytes are none");
  }
  Step step;
  if (first.has_grant()) {
    ASSIGN_OR_RETURN(step, TakeGrant(first.grant(), uses_of));
    step.has_cost = true;
    return step;
  }
  step.terms = terms_;
  if (first.has_granted()) {
    ASSIGN_OR_RETURN(const Step plan, PlanOf(first.granted(), uses_of));
    step.terms.granted = plan.total;
  }
  step.total = total_;
  step.size = size_ + entries.size();
  step.writer = first.writer();
  // A reader that knows of no other writer, and of no round that is settled.
  HistoryReader::Parts parts;
  parts.size = size_;
  parts.first.mutable_declaration()->set_spool_policy(terms_.policy);
  if (terms_.blocks > 1) parts.first.mutable_declaration()->set_block_assignment("as declared");
  parts.retired = terms_.retired;
  if (const auto kept = writers_.find(step.writer); kept != writers_.end()) {
    parts.history = History::FromParts(kept->second.open);
    parts.writers[step.writer] = kept->second.status;
    step.total.Remove(kept->second.used);
  }
  HistoryReader reader = HistoryReader::Resume(std::move(parts));
  for (const std::string_view entry : entries) {
    RETURN_IF_ERROR(reader.Add(entry));
    step.has_cost = step.has_cost || reader.last().has_event() || reader.last().has_granted();
  }
  step.terms.retired = reader.retired();
  if (size_ == 0) TakeTerms(events::DeclarationOf(reader.first()), step.terms);
  ASSIGN_OR_RETURN(
      step.kept, Keep(reader.history().ToParts(), reader.writers().at(step.writer), uses_of, step));
  TakeSeal(reader, step.total, step.terms);
  return step;
}

HeldRun::Step HeldRun::Apply(Step step) {
  if (size_ == 0) levels_ = BlockLevels(MeasuresOf(filter_), step.terms.blocks);
  if (terms_.is_budget) levels_ = LevelsAfter(step);
  const auto [place, is_new] = writers_.try_emplace(step.writer);
  Step back;
  back.writer = std::move(step.writer);
  back.terms = std::exchange(terms_, std::move(step.terms));
  back.total = std::exchange(total_, std::move(step.total));
  back.size = std::exchange(size_, step.size);
  if (!is_new) {
    bytes_ -= place->second.bytes();
    back.kept = std::move(place->second);
  }
  if (step.kept.has_value()) {
    bytes_ += step.kept->bytes();
    place->second = *std::move(step.kept);
  } else {
    writers_.erase(place);
  }
  return back;
}

std::optional<Uses> UsesMemo::Find(const std::string& key) {
  absl::MutexLock lock(&mutex_);
  const auto known = known_.find(key);
  return known == known_.end() ? std::nullopt : std::optional<Uses>(known->second);
}

void UsesMemo::Put(const std::string& key, const Uses& uses) {
  constexpr size_t kMost = size_t{1} << 14;
  absl::MutexLock lock(&mutex_);
  if (known_.size() >= kMost) known_.clear();
  known_[key] = uses;
}

UsesOfPart UsesWithin(const accountant::filter::Filter& filter, accountant::Adjacency adjacency,
                      const accountant::Limits& limits, UsesMemo* memo) {
  // All that uses depend on: bounds do not.
  std::string prefix = absl::StrCat(static_cast<int>(adjacency), " ", filter.index(), " ");
  std::vector<double> orders;
  if (const auto* rdp = std::get_if<accountant::filter::RdpFilter>(&filter)) orders = {rdp->order};
  if (const auto* mixture = std::get_if<accountant::filter::MixtureFilter>(&filter)) {
    orders = mixture->orders;
  }
  for (const double order : orders) accountant::AppendWord(std::bit_cast<uint64_t>(order), prefix);
  return [=](const RunPart& part) -> absl::StatusOr<Uses> {
    const std::string key = prefix + part.key;
    if (memo != nullptr) {
      if (std::optional<Uses> known = memo->Find(key); known.has_value()) return *std::move(known);
    }
    RETURN_IF_ERROR(limits.Check());
    ASSIGN_OR_RETURN(const accountant::Composition composition,
                     accountant::Resolve(part.history(), adjacency));
    ASSIGN_OR_RETURN(Uses uses, accountant::filter::UsesOf(filter, composition, limits));
    if (memo != nullptr) memo->Put(key, uses);
    return uses;
  };
}

double FullestOf(const BlockLevels& levels, const accountant::filter::Filter& filter) {
  double fullest = 0;
  levels.ForEach([&](const Blocks&, const Tally& sum) {
    fullest = std::max(fullest, SpentBy(filter, sum.Total()));
  });
  return fullest;
}

absl::StatusOr<BlockLevels> LevelsOf(const accountant::filter::Filter& filter, uint32_t blocks,
                                     const std::vector<v1::BudgetGrant>& grants,
                                     const UsesOfPart& uses_of) {
  BlockLevels levels(MeasuresOf(filter), blocks);
  for (const v1::BudgetGrant& grant : grants) {
    ASSIGN_OR_RETURN(const HeldRun::Step plan, HeldRun(filter).PlanOf(grant, uses_of));
    levels.Add(BlocksOf(grant, levels.all()), plan.total);
  }
  return levels;
}

absl::StatusOr<Uses> UsesOfPlan(const accountant::filter::Filter& filter,
                                accountant::Adjacency adjacency, const v1::BudgetGrant& grant,
                                const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(const HeldRun::Step plan,
                   HeldRun(filter).PlanOf(grant, UsesWithin(filter, adjacency, limits)));
  return plan.total.Total();
}

BlockLevels HeldRun::LevelsWithout(const Step& step) const {
  BlockLevels levels = levels_;
  const auto before = writers_.find(step.writer);
  if (before != writers_.end() && before->second.planned > 0) {
    levels.Remove(before->second.blocks, before->second.used);
  }
  return levels;
}

BlockLevels HeldRun::LevelsAfter(const Step& step) const {
  BlockLevels levels = LevelsWithout(step);
  if (step.kept.has_value() && step.kept->planned > 0) {
    levels.Add(step.kept->blocks, step.kept->used);
  }
  return levels;
}

double HeldRun::Spent() const {
  return terms_.is_budget ? FullestOf(levels_, filter_) : SpentBy(filter_, total_.Total());
}

double HeldRun::SpentAfter(const Step& step) const {
  return terms_.is_budget ? FullestOf(LevelsAfter(step), filter_)
                          : SpentBy(filter_, step.total.Total());
}

double HeldRun::SpentIn(uint32_t block) const {
  return terms_.is_budget ? SpentBy(filter_, levels_.At(block).Total()) : Spent();
}

double HeldRun::SpentInAfter(uint32_t block, const Step& step) const {
  return terms_.is_budget ? SpentBy(filter_, LevelsAfter(step).At(block).Total())
                          : SpentAfter(step);
}

std::optional<uint32_t> HeldRun::CrossedIn(const Step& step) const {
  const auto margined = [&](const Tally& sum) {
    return !Crossed(filter_, SpentBy(filter_, sum.Total()) * (1 + kMargin));
  };
  if (terms_.is_budget) {
    // What is given back holds: it was no less before.
    if (!step.kept.has_value()) return std::nullopt;
    return LevelsAfter(step).FirstThatFails(step.kept->blocks, margined);
  }
  const bool holds = terms_.under_budget
                         ? step.total.Within(step.terms.granted)
                         : step.total.Total() == total_.Total() || margined(step.total);
  return holds ? std::nullopt : std::optional<uint32_t>(1);
}

std::optional<uint32_t> HeldRun::RetiredIn(const Step& step) const {
  if (!terms_.is_budget || !step.kept.has_value()) return std::nullopt;
  const auto before = writers_.find(step.writer);
  if (before != writers_.end() && step.total.Within(before->second.used)) return std::nullopt;
  for (const Blocks& blocks : step.kept->blocks) {
    for (const v1::BlockRange& retired : terms_.retired.blocks()) {
      if (retired.last() < blocks.first || blocks.last < retired.first()) continue;
      return std::max(static_cast<uint32_t>(retired.first()), blocks.first);
    }
  }
  return std::nullopt;
}

size_t HeldRun::BytesAfter(const Step& step) const {
  const auto before = writers_.find(step.writer);
  const size_t levels = terms_.is_budget ? LevelsAfter(step).bytes() : 0;
  return levels + bytes_ - (before == writers_.end() ? 0 : before->second.bytes()) +
         (step.kept.has_value() ? step.kept->bytes() : 0);
}

double HeldRun::BoundAfter(const Step& step) const {
  return terms_.under_budget ? SpentBy(filter_, step.terms.granted.Total()) : BoundOf(filter_);
}

std::optional<uint64_t> HeldRun::RoundsLeft(const Step& step) const {
  constexpr uint64_t kMost = uint64_t{1} << 53;
  if (!step.one_more.has_value()) return std::nullopt;
  if (!terms_.is_budget) {
    return total_.MostThatHolds(*step.one_more, kMost, [&](const Tally& sum) {
      return terms_.under_budget ? sum.Within(step.terms.granted)
                                 : !Crossed(filter_, SpentBy(filter_, sum.Total()));
    });
  }
  BlockLevels levels = LevelsWithout(step);
  levels.Add(step.kept->blocks, step.rest);
  uint64_t left = kMost;
  for (const Tally& sum : levels.Greatest(step.kept->blocks)) {
    left = sum.MostThatHolds(*step.one_more, left, [&](const Tally& more) {
      return !Crossed(filter_, SpentBy(filter_, more.Total()));
    });
  }
  return left;
}

}  // namespace dpledger::questions
