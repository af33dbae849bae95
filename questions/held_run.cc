#include "questions/held_run.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

#include "base/status.h"
#include "events/declaration_rules.h"
#include "events/writer_rules.h"

namespace dpledger::questions {
namespace {

using accountant::History;
using accountant::Round;
using accountant::SamplingScheme;
using accountant::filter::Tally;
using accountant::filter::Uses;

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

// A scheme that differs from this one in the epoch's number alone has the same cost.
SamplingScheme WithoutNumber(SamplingScheme scheme) {
  if (auto* batches = std::get_if<accountant::DisjointBatches>(&scheme.kind)) batches->epoch = 0;
  if (auto* bins = std::get_if<accountant::RandomAllocation>(&scheme.kind)) bins->epoch = 0;
  return scheme;
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

}  // namespace

size_t HeldRun::Step::Kept::kinds() const {
  size_t kinds = 0;
  for (const History::CountedRound& counted : open.closed) kinds += counted.round.queries.size();
  for (const auto& [owner, round] : open.open) kinds += 1 + round.round.queries.size();
  return kinds;
}

size_t HeldRun::Step::Kept::bytes() const {
  constexpr size_t kWriterBytes = 1024, kKindBytes = 256;
  return kWriterBytes + kKindBytes * kinds();
}

HeldRun::HeldRun(const accountant::filter::Filter& filter)
    : filter_(filter), total_(MeasuresOf(filter)) {}

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

absl::Status HeldRun::Begin(const HistoryReader& own,
                            const std::vector<const HistoryReader*>& prefixes,
                            const UsesOfPart& uses_of) {
  Step step;
  step.total = total_;
  for (const HistoryReader* prefix : prefixes) {
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
  policy_ = events::DeclarationOf(own.first()).spool_policy();
  return absl::OkStatus();
}

absl::StatusOr<HeldRun::Step> HeldRun::Take(std::vector<v1::LedgerEntry> entries,
                                            const UsesOfPart& uses_of) const {
  Step step;
  step.policy = policy_;
  step.total = total_;
  step.size = size_ + entries.size();
  step.writer = entries.at(0).writer();
  // A reader that knows of no other writer, and of no round that is settled.
  HistoryReader::Parts parts;
  parts.size = size_;
  parts.first.mutable_declaration()->set_spool_policy(policy_);
  if (const auto kept = writers_.find(step.writer); kept != writers_.end()) {
    parts.history = History::FromParts(kept->second.open);
    parts.writers[step.writer] = kept->second.status;
    step.total.Remove(kept->second.used);
  }
  HistoryReader reader = HistoryReader::Resume(std::move(parts));
  for (v1::LedgerEntry& entry : entries) RETURN_IF_ERROR(reader.Add(std::move(entry)));
  if (size_ == 0) step.policy = events::DeclarationOf(reader.first()).spool_policy();
  ASSIGN_OR_RETURN(
      step.kept, Keep(reader.history().ToParts(), reader.writers().at(step.writer), uses_of, step));
  return step;
}

HeldRun::Step HeldRun::Apply(Step step) {
  const auto [place, is_new] = writers_.try_emplace(step.writer);
  Step back;
  back.writer = std::move(step.writer);
  back.policy = std::exchange(policy_, step.policy);
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

std::optional<uint64_t> HeldRun::RoundsLeft(const Step& step) const {
  constexpr uint64_t kMost = uint64_t{1} << 53;
  if (!step.one_more.has_value()) return std::nullopt;
  return total_.MostThatHolds(*step.one_more, kMost, [&](const Uses& uses) {
    return !accountant::filter::Crossed(filter_, SpentBy(filter_, uses));
  });
}

}  // namespace dpledger::questions
