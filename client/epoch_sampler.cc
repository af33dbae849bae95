#include "client/epoch_sampler.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/fixed_batches.h"
#include "client/internal/population.h"
#include "client/internal/uniform_integers.h"

namespace dpledger::client {
namespace {

absl::Status Validate(const EpochSamplerOptions& options) {
  RETURN_IF_ERROR(internal::CheckListed("population_size", options.population_size));
  if (options.rounds_per_epoch < 1 || options.rounds_per_epoch > options.population_size) {
    return FieldError("rounds_per_epoch", absl::StrCat("must be in [1, population_size], got ",
                                                       options.rounds_per_epoch));
  }
  if (options.first_epoch >= uint64_t{1} << 53) {
    return FieldError("first_epoch", absl::StrCat("must be below 2^53, got ", options.first_epoch));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<EpochSampler>> EpochSampler::Create(
    const EpochSamplerOptions& options) {
  RETURN_IF_ERROR(Validate(options));
  ASSIGN_OR_RETURN(RootKey root, RootKey::FromKernel());
  return std::unique_ptr<EpochSampler>(new EpochSampler(options, std::move(root)));
}

absl::StatusOr<std::unique_ptr<EpochSampler>> EpochSampler::CreateNonPrivateForTesting(
    const EpochSamplerOptions& options, uint64_t seed) {
  RETURN_IF_ERROR(Validate(options));
  return std::unique_ptr<EpochSampler>(
      new EpochSampler(options, RootKey::NonPrivateForTesting(seed)));
}

EpochSampler::EpochSampler(const EpochSamplerOptions& options, RootKey root)
    : options_(options), root_(std::move(root)) {
  scheme_.set_population_size(options.population_size);
  SetScheme();
}

void EpochSampler::SetScheme() {
  const uint64_t epoch = options_.first_epoch + epochs_drawn_;
  if (options_.partition == EpochPartition::kRandomAllocation) {
    scheme_.mutable_random_allocation()->set_rounds_per_epoch(options_.rounds_per_epoch);
    scheme_.mutable_random_allocation()->set_epoch(epoch);
  } else {
    scheme_.mutable_disjoint_batches()->set_batches_per_epoch(options_.rounds_per_epoch);
    scheme_.mutable_disjoint_batches()->set_epoch(epoch);
  }
}

// Fisher and Yates, by Durstenfeld 1964: place i gets one of the records that have none before it.
void EpochSampler::Shuffle() {
  internal::UniformIntegers uniform(root_.Derive(KeyPurpose::kShuffling, epochs_drawn_));
  const uint64_t size = options_.population_size;
  order_.resize(size);
  std::iota(order_.begin(), order_.end(), 0);
  for (uint64_t i = 0; i < size; ++i) std::swap(order_[i], order_[i + uniform.Below(size - i)]);
  begins_.clear();
  for (uint64_t round = 0; round < options_.rounds_per_epoch; ++round) {
    begins_.push_back(internal::Batch(size, options_.rounds_per_epoch, round).begin);
  }
  begins_.push_back(size);
}

void EpochSampler::Allocate() {
  internal::UniformIntegers uniform(root_.Derive(KeyPurpose::kRandomAllocation, epochs_drawn_));
  std::vector<uint32_t> rounds(options_.population_size);
  begins_.assign(options_.rounds_per_epoch + 1, 0);
  for (uint32_t& round : rounds) {
    round = static_cast<uint32_t>(uniform.Below(options_.rounds_per_epoch));
    ++begins_[round + 1];
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  order_.resize(options_.population_size);
  std::vector<uint64_t> next(begins_);
  for (uint64_t record = 0; record < rounds.size(); ++record) {
    order_[next[rounds[record]]++] = static_cast<uint32_t>(record);
  }
}

absl::StatusOr<std::vector<uint64_t>> EpochSampler::Draw() {
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  if (round_ == 0) {
    options_.partition == EpochPartition::kRandomAllocation ? Allocate() : Shuffle();
  }
  std::vector<uint64_t> sample(order_.begin() + begins_[round_],
                               order_.begin() + begins_[round_ + 1]);
  // Allocated records are in order.
  if (options_.partition == EpochPartition::kShuffledBatches) {
    std::sort(sample.begin(), sample.end());
  }
  if (++round_ == options_.rounds_per_epoch) {
    round_ = 0;
    ++epochs_drawn_;
    SetScheme();
  }
  return sample;
}

}  // namespace dpledger::client
