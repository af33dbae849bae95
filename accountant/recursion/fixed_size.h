// Rounds of a Gaussian mechanism on samples of fixed size, drawn without replacement, one record
// replaced by another: their joint profile by recursion over the rounds, worst over where the
// records are in sight of all that was released before. A pair for each round by itself has to
// reveal at once what two different mechanisms do; blocks of rounds have much less of that.
// Proof: mechanism/CLAIM.md, section 10.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/pair/pair.h"
#include "accountant/recursion/fixed_size_round.h"

namespace dpledger::accountant {

// Rounds that stand as one pair, and how many such blocks there are.
struct Block {
  Pair pair;
  uint64_t count;
};

// Blocks that together dominate `count` >= 1 rounds, however places are chosen in sight of the past
// and whatever else runs between them. They are tight for a δ far above `negligible` > 0. Empty if
// they would take more than `most_work` nanoseconds, or are no tighter than the rounds' own pairs.
// DEADLINE_EXCEEDED, CANCELLED.
absl::StatusOr<std::vector<Block>> BlocksOf(const FixedSizeRound& round, uint64_t count,
                                            double negligible, double most_work,
                                            const Limits& limits);

// δ(mesh·i), at most, i = 0, 1, ..., of `rounds` rounds and of one more. The same in both
// directions.
struct BlockProfiles {
  double mesh;
  std::vector<double> of_rounds, of_one_more;
};
struct BlockPlan {
  uint64_t rounds;  // >= 1
  int angles;       // of CellsOf: parts of a right angle, >= 1
  double mesh;      // of losses
  double reach;     // values up to here
  double tail;      // what each round may put at infinity
};
absl::StatusOr<BlockProfiles> ProfilesOf(const FixedSizeRound& round, const BlockPlan& plan,
                                         const Limits& limits);

}  // namespace dpledger::accountant
