// What is set aside in each block of a budget: a step function over the blocks' numbers. A budget
// without blocks has one. A value; thread safe as such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "accountant/filter/tally.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::questions {

// From first to last, both included.
struct Blocks {
  uint32_t first = 1, last = 1;
};
// That it is of. Precondition: events::CheckBlocks holds. None: all of `all`.
std::vector<Blocks> BlocksOf(const v1::BudgetGrant& grant, const Blocks& all);

class BlockLevels {
 public:
  // Of blocks 1 to `blocks`, in which nothing is set aside.
  BlockLevels(size_t measures, uint32_t blocks);

  Blocks all() const { return {1, last_}; }
  void Add(const std::vector<Blocks>& blocks, const accountant::filter::Tally& sum);
  // Precondition: it was added to these blocks.
  void Remove(const std::vector<Blocks>& blocks, const accountant::filter::Tally& sum);

  // The first block of these in which `holds` is false; nullopt if there is none. Precondition:
  // what holds of a sum holds of lesser ones.
  std::optional<uint32_t> FirstThatFails(
      const std::vector<Blocks>& blocks,
      absl::FunctionRef<bool(const accountant::filter::Tally&)> holds) const;
  // At most 16 sums, such that each of these blocks' is within one of them: they are levels, but
  // for the last one, which may be greater where there are more.
  std::vector<accountant::filter::Tally> Greatest(const std::vector<Blocks>& blocks) const;
  const accountant::filter::Tally& At(uint32_t block) const;
  // In order, blocks beside each other that have one sum.
  void ForEach(absl::FunctionRef<void(const Blocks&, const accountant::filter::Tally&)> use) const;

  size_t bytes() const;  // of memory, about

 private:
  using Levels = std::map<uint32_t, accountant::filter::Tally>;  // by the first block of each

  // The level that begins with this block, which one is made to.
  Levels::iterator Cut(uint32_t block);
  void ForEachIn(const std::vector<Blocks>& blocks,
                 absl::FunctionRef<bool(uint32_t, const accountant::filter::Tally&)> use) const;
  void Change(const std::vector<Blocks>& blocks,
              absl::FunctionRef<void(accountant::filter::Tally&)> change);

  uint32_t last_;
  size_t measures_;
  Levels levels_;
};

}  // namespace dpledger::questions
