// The privatizer of the C interface.
#include "client/privatizer.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/c/accumulate.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/options.h"
#include "client/c/scheme.h"

namespace dpledger::client::c {
namespace {

dpledger_status CreatePrivatizer(const dpledger_privatizer_options* options,
                                 dpledger_recorder* recorder, const uint64_t* seed,
                                 dpledger_privatizer** privatizer, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(privatizer, "privatizer"));
    *privatizer = nullptr;
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    ASSIGN_OR_RETURN(const PrivatizerOptions read, ReadPrivatizerOptions(options));
    const auto rounds = recorder->recorder->events();
    ASSIGN_OR_RETURN(auto made, seed == nullptr
                                    ? Privatizer::Create(read, rounds)
                                    : Privatizer::CreateNonPrivateForTesting(read, rounds, *seed));
    *privatizer = new dpledger_privatizer{std::move(made)};
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace dpledger::client::c

using dpledger::client::c::CheckGiven;
using dpledger::client::c::Guard;

extern "C" {

dpledger_status dpledger_privatizer_create(const dpledger_privatizer_options* options,
                                           dpledger_recorder* recorder,
                                           dpledger_privatizer** privatizer,
                                           dpledger_error* error) {
  return dpledger::client::c::CreatePrivatizer(options, recorder, /*seed=*/nullptr, privatizer,
                                               error);
}

dpledger_status dpledger_privatizer_create_non_private_for_testing(
    const dpledger_privatizer_options* options, dpledger_recorder* recorder, uint64_t seed,
    dpledger_privatizer** privatizer, dpledger_error* error) {
  return dpledger::client::c::CreatePrivatizer(options, recorder, &seed, privatizer, error);
}

void dpledger_privatizer_free(dpledger_privatizer* privatizer) { delete privatizer; }

size_t dpledger_privatizer_dimension(const dpledger_privatizer* privatizer) {
  return privatizer != nullptr ? privatizer->privatizer->dimension() : 0;
}

double dpledger_privatizer_clip_norm(const dpledger_privatizer* privatizer) {
  return privatizer != nullptr ? privatizer->privatizer->clip_norm()
                               : std::numeric_limits<double>::quiet_NaN();
}

size_t dpledger_privatizer_query_count(const dpledger_privatizer* privatizer) {
  return privatizer != nullptr ? privatizer->privatizer->queries().size() : 0;
}

dpledger_status dpledger_privatizer_query(const dpledger_privatizer* privatizer, size_t index,
                                          dpledger_sum_query* query, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(privatizer, "privatizer"));
    const auto& queries = privatizer->privatizer->queries();
    if (index >= queries.size()) {
      return dpledger::FieldError("index",
                                  absl::StrCat("must be below ", queries.size(), ", got ", index));
    }
    return dpledger::client::c::WriteQuery(queries[index], query);
  });
}

dpledger_status dpledger_privatizer_begin_step(dpledger_privatizer* privatizer,
                                               dpledger_sampler* sampler, dpledger_error* error) {
  return dpledger_privatizer_begin_step_on_draw(privatizer, sampler,
                                                dpledger_sampler_draws(sampler), error);
}

dpledger_status dpledger_privatizer_begin_step_on_draw(dpledger_privatizer* privatizer,
                                                       dpledger_sampler* sampler, uint64_t draw,
                                                       dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(privatizer, "privatizer"));
    RETURN_IF_ERROR(CheckGiven(sampler, "sampler"));
    return privatizer->privatizer->BeginStep(*sampler->sampler, draw);
  });
}

dpledger_status dpledger_privatizer_begin_step_by_scheme(dpledger_privatizer* privatizer,
                                                         const dpledger_sampling_scheme* scheme,
                                                         dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(privatizer, "privatizer"));
    ASSIGN_OR_RETURN(const auto read, dpledger::client::c::ReadScheme(scheme));
    return privatizer->privatizer->BeginStep(read);
  });
}

dpledger_status dpledger_privatizer_accumulate(dpledger_privatizer* privatizer,
                                               const dpledger_gradient_rows* rows,
                                               dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(privatizer, "privatizer"));
    return dpledger::client::c::AddRows(*privatizer->privatizer, rows);
  });
}

dpledger_status dpledger_privatizer_accumulate_with_norms(dpledger_privatizer* privatizer,
                                                          const dpledger_gradient_rows* rows,
                                                          const double* norms, size_t norm_count,
                                                          dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(privatizer, "privatizer"));
    return dpledger::client::c::AddRowsWithNorms(*privatizer->privatizer, rows, norms, norm_count);
  });
}

dpledger_status dpledger_privatizer_add_sums(dpledger_privatizer* privatizer, const int64_t* sums,
                                             size_t count, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(privatizer, "privatizer"));
    return dpledger::client::c::AddSums(*privatizer->privatizer, sums, count);
  });
}

dpledger_status dpledger_privatizer_finish(dpledger_privatizer* privatizer, float* values,
                                           size_t count, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(privatizer, "privatizer"));
    RETURN_IF_ERROR(dpledger::client::c::CheckBuffer(*privatizer->privatizer, values, count));
    return privatizer->privatizer->Finish(absl::MakeSpan(values, count));
  });
}

}  // extern "C"
