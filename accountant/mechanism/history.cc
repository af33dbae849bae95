#include "accountant/mechanism/history.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"

namespace dpledger::accountant {
namespace {

constexpr uint64_t kMaxCount = std::numeric_limits<uint64_t>::max();

bool IsByEpoch(const Round& round) { return EpochOf(round.scheme).has_value(); }

// The scheme, then the multiset of queries. A query's group is a label for people and costs
// nothing, so rounds that differ in labels or in the order of their queries are one.
std::string CanonicalKey(const std::string& writer, const Round& round) {
  std::string key;
  AppendWord(round.scheme.kind.index(), key);  // rounds come in this order
  AppendKey(round.scheme, key);
  if (IsByEpoch(round)) AppendKey(writer, key);

  std::vector<std::string> queries(round.queries.size());
  for (size_t i = 0; i < queries.size(); ++i) AppendKey(round.queries[i], queries[i]);
  std::sort(queries.begin(), queries.end());
  for (const std::string& query : queries) key += query;
  return key;
}

// Counts `count` more of `round`. A count that would pass 2^64 - 1 is carried on under a longer
// key: nothing is lost.
void AddTo(std::map<std::string, History::CountedRound>& rounds, const std::string& writer,
           const Round& round, uint64_t count) {
  if (round.queries.empty()) return;
  for (std::string key = CanonicalKey(writer, round); count > 0; key.push_back('+')) {
    History::CountedRound& counted =
        rounds.try_emplace(key, History::CountedRound{round, 0, IsByEpoch(round) ? writer : ""})
            .first->second;
    const uint64_t added = std::min(count, kMaxCount - counted.count);
    counted.count += added;
    count -= added;
  }
}

}  // namespace

void History::Close(const std::string& writer, const Round& round, uint64_t count) {
  AddTo(closed_, writer, round, count);
}

void History::Add(const std::string& writer, const Event& event) {
  if (const auto* sampling = std::get_if<SamplingEvent>(&event)) {
    // The sample ends the open round, even one of the same number: a round has one sample.
    OpenRound& open = open_[writer];
    Close(writer, open.round, 1);
    open = {sampling->round, {sampling->scheme, {}}};
  } else if (const auto* sum = std::get_if<SumQueryEvent>(&event)) {
    const auto [it, is_new] = open_.try_emplace(writer);
    OpenRound& open = it->second;
    if (is_new || open.number != sum->round) {
      // No sampling event opened this round, so it counts as unsampled.
      Close(writer, open.round, 1);
      open = {sum->round, {{0, FullBatch{}}, {}}};
    }
    open.round.queries.push_back(sum->query);
  } else if (const auto* rounds = std::get_if<RoundsEvent>(&event)) {
    // Whole epochs by themselves, whatever number they and sampled rounds bear.
    Close(IsByEpoch(rounds->round) ? writer + "#rounds" : writer, rounds->round, rounds->count);
  } else {
    mechanisms_.push_back(std::get<Mechanism>(event));
  }
}

void History::End(const std::string& writer) {
  const auto open = open_.find(writer);
  if (open == open_.end()) return;
  Close(writer, open->second.round, 1);
  open_.erase(open);
}

std::vector<History::CountedRound> History::Rounds() const {
  std::map<std::string, CountedRound> all = closed_;
  for (const auto& [writer, open] : open_) AddTo(all, writer, open.round, 1);
  std::vector<CountedRound> rounds;
  rounds.reserve(all.size());
  for (auto& [key, counted] : all) rounds.push_back(std::move(counted));
  return rounds;
}

uint64_t History::GreatestPopulation() const {
  uint64_t greatest = 0;
  for (const auto& [key, counted] : closed_) {
    greatest = std::max(greatest, counted.round.scheme.population_size);
  }
  for (const auto& [writer, open] : open_) {
    greatest = std::max(greatest, open.round.scheme.population_size);
  }
  return greatest;
}

uint64_t History::RoundCount() const {
  uint64_t total = 0;
  for (const auto& [key, counted] : closed_) total += std::min(counted.count, kMaxCount - total);
  for (const auto& [writer, open] : open_) {
    if (!open.round.queries.empty() && total < kMaxCount) ++total;
  }
  return total;
}

History::Parts History::ToParts() const {
  Parts parts{{}, open_, mechanisms_};
  parts.closed.reserve(closed_.size());
  for (const auto& [key, counted] : closed_) parts.closed.push_back(counted);
  return parts;
}

History History::FromParts(Parts parts) {
  History history;
  for (const CountedRound& counted : parts.closed) {
    history.Close(counted.writer, counted.round, counted.count);
  }
  history.open_ = std::move(parts.open);
  history.mechanisms_ = std::move(parts.mechanisms);
  return history;
}

void History::Merge(const History& other, const std::string& family) {
  // Copies first, so that a history can be merged with itself.
  const std::vector<CountedRound> rounds = other.Rounds();
  const std::vector<Mechanism> mechanisms = other.mechanisms_;
  const std::string place = std::to_string(++merged_);
  for (const CountedRound& counted : rounds) {
    const std::string_view owner = counted.writer, writer = WriterOf(owner);
    const std::string_view told_apart = owner.substr(writer.size());
    Close(absl::StrCat(family.empty() ? place : family + ":", "/", ToAbsl(writer), "#",
                       ToAbsl(told_apart), "/", place),
          counted.round, counted.count);
  }
  mechanisms_.insert(mechanisms_.end(), mechanisms.begin(), mechanisms.end());
}

}  // namespace dpledger::accountant
