// The samplers of the C interface.
#include "client/sampler.h"

#include <utility>

#include "base/status.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/scheme.h"

namespace dpledger::client::c {
namespace {

// `make` makes a sampler of the scheme that is read.
template <typename Make>
dpledger_status CreateSampler(const dpledger_sampling_scheme* given, dpledger_sampler** sampler,
                              dpledger_error* error, const Make& make) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(sampler, "sampler"));
    *sampler = nullptr;
    ASSIGN_OR_RETURN(const auto scheme, ReadScheme(given));
    ASSIGN_OR_RETURN(auto made, make(scheme));
    *sampler = new dpledger_sampler{.sampler = std::move(made)};
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace dpledger::client::c

using dpledger::accountant::SamplingScheme;
using dpledger::client::Sampler;
using dpledger::client::c::CreateSampler;

extern "C" {

dpledger_status dpledger_sampler_create(const dpledger_sampling_scheme* scheme,
                                        dpledger_sampler** sampler, dpledger_error* error) {
  return CreateSampler(scheme, sampler, error, Sampler::Create);
}

dpledger_status dpledger_sampler_create_non_private_for_testing(
    const dpledger_sampling_scheme* scheme, uint64_t seed, dpledger_sampler** sampler,
    dpledger_error* error) {
  return CreateSampler(scheme, sampler, error, [seed](const SamplingScheme& read) {
    return Sampler::CreateNonPrivateForTesting(read, seed);
  });
}

dpledger_status dpledger_sampler_create_resumable(const dpledger_sampling_scheme* scheme,
                                                  dpledger_recorder* recorder,
                                                  dpledger_sampler** sampler,
                                                  dpledger_error* error) {
  return CreateSampler(scheme, sampler, error,
                       [&](const SamplingScheme& read) -> absl::StatusOr<std::unique_ptr<Sampler>> {
                         RETURN_IF_ERROR(dpledger::client::c::CheckGiven(recorder, "recorder"));
                         return Sampler::CreateResumable(read, recorder->recorder->events());
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
