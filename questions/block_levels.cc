#include "questions/block_levels.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dpledger::questions {

using accountant::filter::Tally;

std::vector<Blocks> BlocksOf(const v1::BudgetGrant& grant, const Blocks& all) {
  if (grant.blocks().empty()) return {all};
  std::vector<Blocks> blocks;
  for (const v1::BlockRange& range : grant.blocks()) {
    blocks.push_back({static_cast<uint32_t>(range.first()), static_cast<uint32_t>(range.last())});
  }
  return blocks;
}

BlockLevels::BlockLevels(size_t measures, uint32_t blocks)
    : last_(blocks), measures_(measures), levels_({{1, Tally(measures)}}) {}

BlockLevels::Levels::iterator BlockLevels::Cut(uint32_t block) {
  const auto after = levels_.upper_bound(block);
  const auto level = std::prev(after);
  if (level->first == block) return level;
  return levels_.emplace_hint(after, block, level->second);
}

void BlockLevels::Change(const std::vector<Blocks>& blocks,
                         absl::FunctionRef<void(Tally&)> change) {
  for (const Blocks& range : blocks) {
    const auto first = Cut(range.first);
    const auto end = range.last == last_ ? levels_.end() : Cut(range.last + 1);
    for (auto level = first; level != end; ++level) change(level->second);
  }
}

void BlockLevels::Add(const std::vector<Blocks>& blocks, const Tally& sum) {
  Change(blocks, [&](Tally& level) { level.Add(sum); });
}

void BlockLevels::Remove(const std::vector<Blocks>& blocks, const Tally& sum) {
  Change(blocks, [&](Tally& level) { level.Remove(sum); });
}

void BlockLevels::ForEachIn(const std::vector<Blocks>& blocks,
                            absl::FunctionRef<bool(uint32_t, const Tally&)> use) const {
  for (const Blocks& range : blocks) {
    auto level = std::prev(levels_.upper_bound(range.first));
    for (; level != levels_.end() && level->first <= range.last; ++level) {
      if (!use(std::max(level->first, range.first), level->second)) return;
    }
  }
}

std::optional<uint32_t> BlockLevels::FirstThatFails(
    const std::vector<Blocks>& blocks, absl::FunctionRef<bool(const Tally&)> holds) const {
  // Most are far from their bound: one question for all of them.
  Tally greatest(measures_);
  ForEachIn(blocks, [&](uint32_t, const Tally& level) {
    greatest.RaiseTo(level);
    return true;
  });
  std::optional<uint32_t> fails;
  if (holds(greatest)) return fails;
  ForEachIn(blocks, [&](uint32_t block, const Tally& level) {
    if (!holds(level)) fails = block;
    return !fails.has_value();
  });
  return fails;
}

std::vector<Tally> BlockLevels::Greatest(const std::vector<Blocks>& blocks) const {
  constexpr size_t kMost = 16;
  std::vector<Tally> greatest;
  ForEachIn(blocks, [&](uint32_t, const Tally& level) {
    const auto covers = [&](const Tally& other) { return level.Within(other); };
    if (std::any_of(greatest.begin(), greatest.end(), covers)) return true;
    std::erase_if(greatest, [&](const Tally& other) { return other.Within(level); });
    if (greatest.size() < kMost) {
      greatest.push_back(level);
    } else {
      greatest.back().RaiseTo(level);
    }
    return true;
  });
  return greatest;
}

const Tally& BlockLevels::At(uint32_t block) const {
  return std::prev(levels_.upper_bound(block))->second;
}

void BlockLevels::ForEach(absl::FunctionRef<void(const Blocks&, const Tally&)> use) const {
  for (auto level = levels_.begin(); level != levels_.end(); ++level) {
    const auto next = std::next(level);
    use({level->first, next == levels_.end() ? last_ : next->first - 1}, level->second);
  }
}

size_t BlockLevels::bytes() const {
  constexpr size_t kLevelBytes = 128, kSumBytes = 32;
  return levels_.size() * (kLevelBytes + kSumBytes * measures_);
}

}  // namespace dpledger::questions
