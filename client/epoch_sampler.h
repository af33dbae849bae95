// Draws the batches of epochs in which each record is in exactly one batch, and a new partition of
// the records in every epoch.
//
// 1. SHUFFLED_BATCHES: a uniformly random permutation, cut into batches of nearly equal size; the
//    scheme is DisjointBatches. RANDOM_ALLOCATION: each record goes to a uniformly chosen round of
//    the epoch, independently of the others, so that batches differ in size; the scheme is
//    RandomAllocation.
// 2. The rounds of an epoch depend on each other and are accounted as one: an epoch that is not
//    finished costs as much as a whole one.
// 3. No two samplers of a process number their epochs alike: those of number k, from 0, begin at
//    k * 2^32. So rounds of two partitions are never taken for one epoch, and a writer's later
//    sampler has the greater numbers. A process that resumes a run begins a new epoch, with a new
//    partition; the one that was cut off is accounted for itself. With a RunState the process
//    carries the epoch on: the same partition, its next round, the numbers that follow.
//
// Thread safety: thread-compatible. Takes four bytes a record and eight a round; twice that while
// an epoch is allocated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "client/internal/uniform_integers.h"
#include "client/root_key.h"
#include "client/run_state.h"
#include "client/sampler.h"

namespace dpledger::client {

enum class EpochPartition { kShuffledBatches, kRandomAllocation };

struct EpochSamplerOptions {
  EpochPartition partition = EpochPartition::kShuffledBatches;
  uint64_t population_size = 0;   // n, in [1, 2^32]
  uint64_t rounds_per_epoch = 0;  // in [1, population_size]
  // Keeps the partition for the next process, and has that of the one before; must outlive the
  // sampler.
  RunState* state = nullptr;
  // The last epoch of the incarnation that is carried on, and how many of its rounds the ledger
  // has; absent: none of any epoch.
  std::optional<EpochPosition> recorded;
};

class EpochSampler : public Sampler {
 public:
  // Draws by `root`, unless the state has a key. INVALID_ARGUMENT names the field that is out of
  // its domain; FAILED_PRECONDITION the one that does not fit what is carried on.
  static absl::StatusOr<std::unique_ptr<EpochSampler>> Create(
      const EpochSamplerOptions& options, absl::StatusOr<RootKey> root = RootKey::FromKernel());

 private:
  absl::StatusOr<std::vector<uint64_t>> DrawNext() override;
  bool keeps_epochs() const override { return options_.state != nullptr; }
  EpochSampler(const EpochSamplerOptions& options, RootKey root);
  absl::Status CarryOnFrom(uint64_t first_epoch, uint64_t epoch);
  absl::Status Keep();
  void Shuffle();
  void SetScheme();

  const EpochSamplerOptions options_;
  const RootKey root_;
  uint64_t first_epoch_;              // its number in the ledger
  uint64_t epoch_ = 0;                // counted from there; each has its own key
  uint64_t round_ = 0;                // of the epoch, that is drawn next
  internal::RecordsByRound records_;  // of the epoch; those of shuffled batches in no order
};

}  // namespace dpledger::client
