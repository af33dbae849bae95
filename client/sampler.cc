#include "client/sampler.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/value_rules.h"
#include "client/epoch_sampler.h"
#include "client/event_recorder.h"
#include "client/internal/population.h"
#include "client/internal/uniform_integers.h"
#include "client/poisson_sampler.h"
#include "client/root_key.h"

namespace dpledger::client {
namespace {

using SamplerOrError = absl::StatusOr<std::unique_ptr<Sampler>>;

// Every record in each round.
class FullBatchSampler : public Sampler {
 public:
  explicit FullBatchSampler(const accountant::SamplingScheme& scheme) : Sampler(scheme) {}

 private:
  absl::StatusOr<std::vector<uint64_t>> DrawNext() override {
    std::vector<uint64_t> all(scheme_.population_size);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
};

// Each set of `size` records with the same probability. Takes memory for the sample, not for the
// population.
class FixedSizeSampler : public Sampler {
 public:
  FixedSizeSampler(const accountant::SamplingScheme& scheme, uint64_t size, RootKey root)
      : Sampler(scheme), size_(size), root_(std::move(root)) {}

 private:
  // Floyd's algorithm (Bentley and Floyd 1987): after the step for `last`, the set is a uniform
  // sample of [0, last].
  absl::StatusOr<std::vector<uint64_t>> DrawNext() override {
    RETURN_IF_ERROR(root_.CheckSafeToDraw());
    internal::UniformIntegers uniform(root_.Derive(KeyPurpose::kFixedSizeSampling, next_step_++));
    absl::flat_hash_set<uint64_t> drawn;
    drawn.reserve(size_);
    const uint64_t population = scheme_.population_size;
    for (uint64_t last = population - size_; last < population; ++last) {
      const uint64_t record = uniform.Below(last + 1);
      if (!drawn.insert(record).second) drawn.insert(last);
    }
    std::vector<uint64_t> sample(drawn.begin(), drawn.end());
    std::sort(sample.begin(), sample.end());
    return sample;
  }

  const uint64_t size_;
  const RootKey root_;
  uint64_t next_step_ = 0;
};

// Makes the sampler of each kind of scheme. `seed`: null for a private one. `kept`: what keeps an
// epoch sampler; null: nothing.
struct Maker {
  const accountant::SamplingScheme& scheme;
  const uint64_t* const seed;
  KeptRun* const kept;

  absl::StatusOr<RootKey> Root() const {
    return seed == nullptr ? RootKey::FromKernel() : RootKey::NonPrivateForTesting(*seed);
  }
  SamplerOrError OfEpochs(EpochPartition partition, uint64_t rounds, uint64_t epoch) const {
    if (epoch != 0) {
      return FieldError(
          "epoch", absl::StrCat("must be 0: a sampler numbers its epochs itself, got ", epoch));
    }
    EpochSamplerOptions options{partition, scheme.population_size, rounds};
    if (kept == nullptr) return EpochSampler::Create(options, Root());
    if (kept->has_sampler.exchange(true)) {
      return absl::FailedPreconditionError("recorder: its state keeps another sampler already");
    }
    options.state = kept->state.get();
    options.recorded = kept->epoch;
    SamplerOrError made = EpochSampler::Create(options, Root());
    // Nothing was taken out of the state.
    if (absl::IsInvalidArgument(made.status())) kept->has_sampler = false;
    return made;
  }

  SamplerOrError operator()(const accountant::PoissonSampling& poisson) const {
    return PoissonSampler::Create({scheme.population_size, poisson.probability}, Root());
  }
  SamplerOrError operator()(const accountant::WithoutReplacement& fixed) const {
    RETURN_IF_ERROR(internal::CheckPopulation(scheme.population_size));
    if (fixed.sample_size < 1 || fixed.sample_size > scheme.population_size) {
      return FieldError("sample_size",
                        absl::StrCat("must be in [1, population_size], got ", fixed.sample_size));
    }
    RETURN_IF_ERROR(internal::CheckListed("sample_size", fixed.sample_size));
    ASSIGN_OR_RETURN(RootKey root, Root());
    return std::make_unique<FixedSizeSampler>(scheme, fixed.sample_size, std::move(root));
  }
  SamplerOrError operator()(const accountant::FullBatch&) const {
    RETURN_IF_ERROR(internal::CheckListed("population_size", scheme.population_size));
    return std::make_unique<FullBatchSampler>(scheme);
  }
  SamplerOrError operator()(const accountant::DisjointBatches& batches) const {
    return OfEpochs(EpochPartition::kShuffledBatches, batches.batches_per_epoch, batches.epoch);
  }
  SamplerOrError operator()(const accountant::RandomAllocation& allocation) const {
    if (allocation.contributions > 1 || allocation.fixed_bins) {
      return absl::UnimplementedError(
          "scheme.contributions, scheme.fixed_bins: have no sampler here; draw the samples "
          "yourself, and name their scheme");
    }
    return OfEpochs(EpochPartition::kRandomAllocation, allocation.rounds_per_epoch,
                    allocation.epoch);
  }
  template <typename Other>
  SamplerOrError operator()(const Other&) const {
    return absl::UnimplementedError(
        "scheme.kind: has no sampler here; draw the samples yourself, and name their scheme");
  }
};

SamplerOrError MakeSampler(const accountant::SamplingScheme& scheme, const uint64_t* seed,
                           KeptRun* kept) {
  return rules::Within("scheme", std::visit(Maker{scheme, seed, kept}, scheme.kind));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sampler>> Sampler::Create(const accountant::SamplingScheme& scheme) {
  return MakeSampler(scheme, /*seed=*/nullptr, /*kept=*/nullptr);
}

absl::StatusOr<std::unique_ptr<Sampler>> Sampler::CreateNonPrivateForTesting(
    const accountant::SamplingScheme& scheme, uint64_t seed) {
  ASSIGN_OR_RETURN(auto made, CreateToCompare(scheme, seed));
  made->non_private_ = true;
  return made;
}

absl::StatusOr<std::unique_ptr<Sampler>> Sampler::CreateToCompare(
    const accountant::SamplingScheme& scheme, uint64_t seed) {
  return MakeSampler(scheme, &seed, /*kept=*/nullptr);
}

absl::StatusOr<std::unique_ptr<Sampler>> Sampler::CreateResumable(
    const accountant::SamplingScheme& scheme, std::shared_ptr<EventRecorder> recorder) {
  KeptRun* const kept = recorder->kept();
  if (kept == nullptr) {
    return absl::FailedPreconditionError("recorder: has no state that could keep a sampler");
  }
  ASSIGN_OR_RETURN(auto made, MakeSampler(scheme, /*seed=*/nullptr, kept));
  made->keeper_ = std::move(recorder);
  return made;
}

absl::StatusOr<std::vector<uint64_t>> Sampler::Draw() {
  Drawn drawn{scheme()};
  ASSIGN_OR_RETURN(std::vector<uint64_t> sample, DrawNext());
  drawn.records = sample.size();
  waiting_.push_back(std::move(drawn));
  if (waiting_.size() > kMostWaiting) waiting_.pop_front();
  ++draws_;
  return sample;
}

absl::StatusOr<Sampler::Drawn> Sampler::Waiting(uint64_t number) const {
  const uint64_t gone = draws_ - waiting_.size();
  if (number <= taken_ || number <= gone || number > draws_) {
    return absl::FailedPreconditionError("sampler: has no fresh sample: draw one for each step");
  }
  if (number != taken_ + 1 && (taken_ > 0 || keeps_epochs())) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "sampler: sample ", taken_ + 1, " was passed over, before sample ", number,
            ": whether a sample is used must not depend on it or its size. Give each a round, an "
            "empty one too")),
        {"SAMPLE_SKIPPED", {{"field", "sampler"}}});
  }
  return waiting_[number - gone - 1];
}

void Sampler::Take(uint64_t number) {
  taken_ = number;
  while (draws_ - waiting_.size() < number) waiting_.pop_front();
}

}  // namespace dpledger::client
