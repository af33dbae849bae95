#include "client/epoch_sampler.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/fixed_batches.h"
#include "client/internal/population.h"
#include "client/internal/state_bytes.h"

namespace dpledger::client {
namespace {

// The number of the first epoch of a new sampler of this process.
uint64_t NextFirstEpoch() {
  constexpr uint64_t kEpochsOfASampler = uint64_t{1} << 32;
  static std::atomic<uint64_t> samplers = 0;
  return samplers.fetch_add(1) * kEpochsOfASampler;
}

// What a partition depends on beside its key.
std::array<std::pair<const char*, uint64_t>, 3> Shape(const EpochSamplerOptions& options) {
  return {{{"partition", static_cast<uint64_t>(options.partition)},
           {"population_size", options.population_size},
           {"rounds_per_epoch", options.rounds_per_epoch}}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<EpochSampler>> EpochSampler::Create(
    const EpochSamplerOptions& options, absl::StatusOr<RootKey> root) {
  RETURN_IF_ERROR(internal::CheckListed("population_size", options.population_size));
  if (options.rounds_per_epoch < 1 || options.rounds_per_epoch > options.population_size) {
    return FieldError("rounds_per_epoch", absl::StrCat("must be in [1, population_size], got ",
                                                       options.rounds_per_epoch));
  }
  if (options.recorded && options.recorded->rounds > options.rounds_per_epoch) {
    return FieldError("recorded.rounds",
                      absl::StrCat("an epoch has only ", options.rounds_per_epoch, " rounds, got ",
                                   options.recorded->rounds));
  }
  const auto kept = options.state ? options.state->Take(RunState::Kind::kSampler) : std::nullopt;
  if (!kept) {
    if (options.recorded) {
      return absl::FailedPreconditionError(
          "recorded: must be absent where no epoch is carried on: this is a new one");
    }
    RETURN_IF_ERROR(root.status());
    return std::unique_ptr<EpochSampler>(new EpochSampler(options, *std::move(root)));
  }
  internal::StateReader reader(*kept);
  const uint64_t first_epoch = reader.Number(), epoch = reader.Number();
  for (const auto& [field, given] : Shape(options)) {
    const uint64_t carried = reader.Number();
    if (carried == given) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(field, ": is ", carried, " in the epoch that is carried on, got ", given));
  }
  ASSIGN_OR_RETURN(RootKey carried, RootKey::Restore(reader));
  std::unique_ptr<EpochSampler> sampler(new EpochSampler(options, std::move(carried)));
  RETURN_IF_ERROR(sampler->CarryOnFrom(first_epoch, epoch));
  return sampler;
}

// An epoch is kept before its first round is drawn, so the ledger may know nothing of it yet.
absl::Status EpochSampler::CarryOnFrom(uint64_t first_epoch, uint64_t epoch) {
  const auto& recorded = options_.recorded;
  first_epoch_ = first_epoch;
  epoch_ = epoch;
  const uint64_t number = first_epoch + epoch;
  // Before its first epoch there is none, or one of another sampler.
  const bool follows =
      recorded ? epoch == 0 ? recorded->epoch < number : recorded->epoch + 1 == number : epoch == 0;
  if (recorded && recorded->epoch == number) {
    round_ = recorded->rounds;
  } else if (!follows) {
    return absl::FailedPreconditionError(
        absl::StrCat("recorded.epoch: epoch ", number,
                     " is carried on, which does not follow what the ledger has"));
  }
  if (round_ == options_.rounds_per_epoch) {
    round_ = 0;
    ++epoch_;
  }
  SetScheme();
  return absl::OkStatus();
}

absl::Status EpochSampler::Keep() {
  if (options_.state == nullptr) return absl::OkStatus();
  internal::StateWriter kept;
  kept.Number(first_epoch_);
  kept.Number(epoch_);
  for (const auto& [field, value] : Shape(options_)) kept.Number(value);
  root_.Save(kept);
  const absl::Status stored = options_.state->Store(RunState::Kind::kSampler, kept.bytes());
  OPENSSL_cleanse(kept.bytes().data(), kept.bytes().size());
  return stored;
}

EpochSampler::EpochSampler(const EpochSamplerOptions& options, RootKey root)
    : Sampler({options.population_size, {}}),
      options_(options),
      root_(std::move(root)),
      first_epoch_(NextFirstEpoch()) {
  SetScheme();
}

void EpochSampler::SetScheme() {
  if (options_.partition == EpochPartition::kRandomAllocation) {
    scheme_.kind = accountant::RandomAllocation{options_.rounds_per_epoch, first_epoch_ + epoch_};
  } else {
    scheme_.kind = accountant::DisjointBatches{options_.rounds_per_epoch, first_epoch_ + epoch_};
  }
}

// Fisher and Yates, by Durstenfeld 1964: place i gets one of the records that have none before it.
void EpochSampler::Shuffle() {
  internal::UniformIntegers uniform(root_.Derive(KeyPurpose::kShuffling, epoch_));
  const uint64_t size = options_.population_size;
  auto& [order, begins] = records_;
  order.resize(size);
  std::iota(order.begin(), order.end(), 0);
  for (uint64_t i = 0; i < size; ++i) std::swap(order[i], order[i + uniform.Below(size - i)]);
  begins.clear();
  for (uint64_t round = 0; round < options_.rounds_per_epoch; ++round) {
    begins.push_back(internal::Batch(size, options_.rounds_per_epoch, round).begin);
  }
  begins.push_back(size);
}

absl::StatusOr<std::vector<uint64_t>> EpochSampler::DrawNext() {
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  if (round_ == 0) RETURN_IF_ERROR(Keep());
  if (round_ == 0 || records_.order.empty()) {
    if (options_.partition == EpochPartition::kShuffledBatches) {
      Shuffle();
    } else {
      records_ = internal::AllocateRecords(root_.Derive(KeyPurpose::kRandomAllocation, epoch_),
                                           options_.population_size, options_.rounds_per_epoch);
    }
  }
  const absl::Span<const uint32_t> records = records_.Of(round_);
  std::vector<uint64_t> sample(records.begin(), records.end());
  // Allocated records are in order.
  if (options_.partition == EpochPartition::kShuffledBatches) {
    std::sort(sample.begin(), sample.end());
  }
  if (++round_ == options_.rounds_per_epoch) {
    round_ = 0;
    ++epoch_;
    SetScheme();
  }
  return sample;
}

}  // namespace dpledger::client
