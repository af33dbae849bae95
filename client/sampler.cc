#include "client/sampler.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/epoch_sampler.h"
#include "client/event_recorder.h"
#include "client/fixed_batches.h"
#include "client/fixed_size_sampler.h"
#include "client/poisson_sampler.h"

namespace dpledger::client {
namespace {

using SamplerOrError = absl::StatusOr<std::unique_ptr<Sampler>>;

// Makes the sampler of each kind of scheme. `seed`: null for a private one. `kept`: what keeps an
// epoch sampler; null: nothing.
struct Maker {
  const uint64_t population_size;
  const uint64_t* const seed;
  KeptRun* const kept;

  template <typename Kind, typename Options>
  SamplerOrError Make(const Options& options) const {
    return seed == nullptr ? SamplerOrError(Kind::Create(options))
                           : SamplerOrError(Kind::CreateNonPrivateForTesting(options, *seed));
  }
  SamplerOrError OfEpochs(EpochPartition partition, uint64_t rounds, uint64_t epoch) const {
    if (epoch != 0) {
      return FieldError(
          "epoch", absl::StrCat("must be 0: a sampler numbers its epochs itself, got ", epoch));
    }
    EpochSamplerOptions options{partition, population_size, rounds};
    if (kept == nullptr) return Make<EpochSampler>(options);
    if (kept->has_sampler.exchange(true)) {
      return absl::FailedPreconditionError("recorder: its state keeps another sampler already");
    }
    options.state = kept->state.get();
    options.recorded = kept->epoch;
    SamplerOrError made = Make<EpochSampler>(options);
    // Nothing was taken out of the state.
    if (absl::IsInvalidArgument(made.status())) kept->has_sampler = false;
    return made;
  }

  SamplerOrError operator()(const accountant::PoissonSampling& poisson) const {
    return Make<PoissonSampler>(PoissonSamplerOptions{population_size, poisson.probability});
  }
  SamplerOrError operator()(const accountant::WithoutReplacement& fixed) const {
    return Make<FixedSizeSampler>(FixedSizeSamplerOptions{population_size, fixed.sample_size});
  }
  SamplerOrError operator()(const accountant::FullBatch&) const {
    return FullBatchSampler::Create(population_size);
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
  SamplerOrError made = std::visit(Maker{scheme.population_size, seed, kept}, scheme.kind);
  if (!made.ok()) return PrefixField("scheme", made.status());
  return made;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sampler>> Sampler::Create(const accountant::SamplingScheme& scheme) {
  return MakeSampler(scheme, /*seed=*/nullptr, /*kept=*/nullptr);
}

absl::StatusOr<std::unique_ptr<Sampler>> Sampler::CreateNonPrivateForTesting(
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
  absl::StatusOr<std::vector<uint64_t>> sample = DrawNext();
  if (!sample.ok()) return sample;
  drawn.records = sample->size();
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
  if (keeps_epochs() && number != taken_ + 1) {
    return absl::FailedPreconditionError(
        "sampler: a draw before this one had no round; an epoch that the next process may carry on "
        "needs a round for each draw");
  }
  return waiting_[number - gone - 1];
}

void Sampler::Take(uint64_t number) {
  taken_ = number;
  while (draws_ - waiting_.size() < number) waiting_.pop_front();
}

}  // namespace dpledger::client
