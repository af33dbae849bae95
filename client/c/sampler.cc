// The samplers of the C interface.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/scheme.h"
#include "client/epoch_sampler.h"
#include "client/fixed_batches.h"
#include "client/fixed_size_sampler.h"
#include "client/poisson_sampler.h"

namespace dpledger::client::c {
namespace {

using SamplerOrError = absl::StatusOr<std::unique_ptr<Sampler>>;

template <typename Kind, typename Options>
SamplerOrError Make(const Options& options, const uint64_t* seed) {
  auto sampler =
      seed == nullptr ? Kind::Create(options) : Kind::CreateNonPrivateForTesting(options, *seed);
  if (!sampler.ok()) return PrefixField("scheme", sampler.status());
  return std::unique_ptr<Sampler>(*std::move(sampler));
}

SamplerOrError MakeEpochSampler(EpochPartition partition, uint64_t population_size,
                                uint64_t rounds_per_epoch, uint64_t epoch, const uint64_t* seed,
                                Opened* opened) {
  if (epoch != 0) {
    return FieldError("scheme.epoch",
                      absl::StrCat("must be 0: a sampler numbers its epochs itself, got ", epoch));
  }
  EpochSamplerOptions options{.partition = partition,
                              .population_size = population_size,
                              .rounds_per_epoch = rounds_per_epoch};
  if (opened != nullptr) {
    if (opened->has_sampler.exchange(true)) {
      return absl::FailedPreconditionError("recorder: its state keeps another sampler already");
    }
    options.state = opened->state.get();
    options.recorded = opened->recorder->carried_epoch();
  }
  SamplerOrError made = Make<EpochSampler>(options, seed);
  // Nothing was taken out of the state.
  if (opened != nullptr && absl::IsInvalidArgument(made.status())) opened->has_sampler = false;
  return made;
}

// `opened`: whose state keeps an epoch sampler; null: none's.
SamplerOrError MakeSampler(const dpledger_sampling_scheme* given, const uint64_t* seed,
                           Opened* opened) {
  ASSIGN_OR_RETURN(const v1::SamplingScheme scheme, ReadScheme(given));
  const uint64_t population_size = scheme.population_size();
  switch (scheme.kind_case()) {
    case v1::SamplingScheme::kPoisson:
      return Make<PoissonSampler>(
          PoissonSamplerOptions{.population_size = population_size,
                                .probability = scheme.poisson().probability()},
          seed);
    case v1::SamplingScheme::kWithoutReplacement:
      return Make<FixedSizeSampler>(
          FixedSizeSamplerOptions{.population_size = population_size,
                                  .sample_size = scheme.without_replacement().sample_size()},
          seed);
    case v1::SamplingScheme::kDisjointBatches:
      return MakeEpochSampler(EpochPartition::kShuffledBatches, population_size,
                              scheme.disjoint_batches().batches_per_epoch(),
                              scheme.disjoint_batches().epoch(), seed, opened);
    case v1::SamplingScheme::kRandomAllocation:
      if (scheme.random_allocation().contributions() > 1 ||
          scheme.random_allocation().fixed_bins()) {
        return absl::UnimplementedError(
            "scheme.contributions, scheme.fixed_bins: have no sampler here; draw the samples "
            "yourself, and name their scheme");
      }
      return MakeEpochSampler(EpochPartition::kRandomAllocation, population_size,
                              scheme.random_allocation().rounds_per_epoch(),
                              scheme.random_allocation().epoch(), seed, opened);
    case v1::SamplingScheme::kFullBatch: {
      auto sampler = FullBatchSampler::Create(population_size);
      if (!sampler.ok()) return PrefixField("scheme", sampler.status());
      return std::unique_ptr<Sampler>(*std::move(sampler));
    }
    default:
      return absl::UnimplementedError(
          "scheme.kind: has no sampler here; draw the samples yourself, and name their scheme");
  }
}

dpledger_status CreateSampler(const dpledger_sampling_scheme* scheme, const uint64_t* seed,
                              dpledger_sampler** sampler, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(sampler, "sampler"));
    *sampler = nullptr;
    ASSIGN_OR_RETURN(auto made, MakeSampler(scheme, seed, /*opened=*/nullptr));
    *sampler = new dpledger_sampler{.sampler = std::move(made)};
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace dpledger::client::c

extern "C" {

dpledger_status dpledger_sampler_create(const dpledger_sampling_scheme* scheme,
                                        dpledger_sampler** sampler, dpledger_error* error) {
  return dpledger::client::c::CreateSampler(scheme, /*seed=*/nullptr, sampler, error);
}

dpledger_status dpledger_sampler_create_non_private_for_testing(
    const dpledger_sampling_scheme* scheme, uint64_t seed, dpledger_sampler** sampler,
    dpledger_error* error) {
  return dpledger::client::c::CreateSampler(scheme, &seed, sampler, error);
}

dpledger_status dpledger_sampler_create_resumable(const dpledger_sampling_scheme* scheme,
                                                  dpledger_recorder* recorder,
                                                  dpledger_sampler** sampler,
                                                  dpledger_error* error) {
  using dpledger::client::c::CheckGiven;
  return dpledger::client::c::Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(sampler, "sampler"));
    *sampler = nullptr;
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    if (recorder->opened->state == nullptr) {
      return absl::FailedPreconditionError("recorder: has no state that could keep a sampler");
    }
    ASSIGN_OR_RETURN(auto made, dpledger::client::c::MakeSampler(scheme, /*seed=*/nullptr,
                                                                 recorder->opened.get()));
    *sampler = new dpledger_sampler{.opened = recorder->opened, .sampler = std::move(made)};
    return absl::OkStatus();
  });
}

void dpledger_sampler_free(dpledger_sampler* sampler) { delete sampler; }

uint64_t dpledger_sampler_draws(const dpledger_sampler* sampler) {
  return sampler != nullptr ? sampler->sampler->draws() : 0;
}

dpledger_status dpledger_sampler_draw(dpledger_sampler* sampler, const uint64_t** sample,
                                      size_t* size, dpledger_error* error) {
  return dpledger::client::c::Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(dpledger::client::c::CheckGiven(sampler, "sampler"));
    RETURN_IF_ERROR(dpledger::client::c::CheckGiven(sample, "sample"));
    RETURN_IF_ERROR(dpledger::client::c::CheckGiven(size, "size"));
    ASSIGN_OR_RETURN(sampler->sample, sampler->sampler->Draw());
    *sample = sampler->sample.data();
    *size = sampler->sample.size();
    return absl::OkStatus();
  });
}

}  // extern "C"
