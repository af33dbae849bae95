// What a training's steps call, in the C interface: samplers, privatizers, runs with correlated
// noise, and the sums of a rank.
#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/c/calls.h"
#include "client/c/handles.h"
#include "client/c/options.h"
#include "client/fixed_batches.h"

namespace dpledger::client::c {
namespace {

// `make` makes a sampler of the scheme that is read.
template <typename Make>
dpledger_status CreateSampler(const dpledger_sampling_scheme* given, dpledger_sampler** sampler,
                              dpledger_error* error, const Make& make) {
  return GuardNew(error, "sampler", sampler, {}, [&]() -> absl::StatusOr<std::unique_ptr<Sampler>> {
    ASSIGN_OR_RETURN(const auto scheme, ReadScheme(given));
    return make(scheme);
  });
}

dpledger_status CreatePrivatizer(const dpledger_privatizer_options* options,
                                 dpledger_recorder* recorder, const uint64_t* seed,
                                 dpledger_privatizer** privatizer, dpledger_error* error) {
  return GuardNew(error, "privatizer", privatizer, {{"recorder", recorder}},
                  [&]() -> absl::StatusOr<std::unique_ptr<Privatizer>> {
                    ASSIGN_OR_RETURN(const PrivatizerOptions read, ReadPrivatizerOptions(options));
                    const auto events = recorder->recorder->events();
                    if (seed == nullptr) return Privatizer::Create(read, events);
                    return Privatizer::CreateNonPrivateForTesting(read, events, *seed);
                  });
}

dpledger_status BeginRun(const dpledger_correlated_options* options, dpledger_recorder* recorder,
                         const uint64_t* seed, dpledger_correlated_run** run,
                         dpledger_error* error) {
  return GuardNew(error, "run", run, {{"recorder", recorder}},
                  [&]() -> absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>> {
                    ASSIGN_OR_RETURN(const CorrelatedOptions read, ReadCorrelatedOptions(options));
                    const auto events = recorder->recorder->events();
                    if (seed == nullptr) return CorrelatedPrivatizer::BeginRun(read, events);
                    return CorrelatedPrivatizer::BeginNonPrivateRunForTesting(read, events, *seed);
                  });
}

// To a privatizer, a run or a sum.
template <typename Sums>
absl::Status AddRows(Sums& sums, const dpledger_gradient_rows* rows) {
  ASSIGN_OR_RETURN(const GradientRows read, ReadRows(rows));
  return sums.Accumulate(read);
}

template <typename Sums>
absl::Status AddRows(Sums& sums, const dpledger_gradient_rows* rows, const double* norms,
                     size_t norm_count) {
  ASSIGN_OR_RETURN(const GradientRows read, ReadRows(rows));
  if (norm_count > 0) RETURN_IF_ERROR(CheckGiven({{"norms", norms}}));
  return sums.Accumulate(read, absl::MakeSpan(norms, norm_count));
}

template <typename Sums>
absl::Status AddSums(Sums& sums, const int64_t* values, size_t count, uint64_t rows) {
  RETURN_IF_ERROR(CheckGiven({{"sums", values}}));
  return sums.AddSums(absl::MakeSpan(values, count), rows);
}

absl::Status CheckCount(size_t needed, size_t count) {
  if (count == needed) return absl::OkStatus();
  return FieldError("count", absl::StrCat("must be ", needed, ", got ", count));
}

// Guard for a call on a sum, which no other thread may be using.
template <typename Body>
dpledger_status GuardAlone(const dpledger_sum* sum, dpledger_error* error, const Body& body) {
  return Guard(error, {{"sum", sum}}, [&]() -> absl::Status {
    const internal::InUse::Call call(sum->in_use);
    RETURN_IF_ERROR(call.CheckAlone("sum"));
    return body();
  });
}

}  // namespace
}  // namespace dpledger::client::c

using namespace dpledger::client::c;  // NOLINT: the functions below are all of this file
using dpledger::accountant::SamplingScheme;
using dpledger::client::Sampler;

extern "C" {

// ---- Samplers ----

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

dpledger_status dpledger_sampler_create_to_compare(const dpledger_sampling_scheme* scheme,
                                                   uint64_t seed, dpledger_sampler** sampler,
                                                   dpledger_error* error) {
  return CreateSampler(scheme, sampler, error, [seed](const SamplingScheme& read) {
    return Sampler::CreateToCompare(read, seed);
  });
}

dpledger_status dpledger_sampler_create_resumable(const dpledger_sampling_scheme* scheme,
                                                  dpledger_recorder* recorder,
                                                  dpledger_sampler** sampler,
                                                  dpledger_error* error) {
  return CreateSampler(scheme, sampler, error,
                       [&](const SamplingScheme& read) -> absl::StatusOr<std::unique_ptr<Sampler>> {
                         RETURN_IF_ERROR(CheckGiven({{"recorder", recorder}}));
                         return Sampler::CreateResumable(read, recorder->recorder->events());
                       });
}

void dpledger_sampler_free(dpledger_sampler* sampler) { delete sampler; }

uint64_t dpledger_sampler_draws(const dpledger_sampler* sampler) {
  return sampler != nullptr ? sampler->sampler->draws() : 0;
}

dpledger_status dpledger_sampler_draw(dpledger_sampler* sampler, const uint64_t** sample,
                                      size_t* size, dpledger_error* error) {
  return Guard(error, {{"sampler", sampler}, {"sample", sample}, {"size", size}},
               [&]() -> absl::Status {
                 ASSIGN_OR_RETURN(sampler->sample, sampler->sampler->Draw());
                 *sample = sampler->sample.data();
                 *size = sampler->sample.size();
                 return absl::OkStatus();
               });
}

// ---- Privatizers ----

dpledger_status dpledger_privatizer_create(const dpledger_privatizer_options* options,
                                           dpledger_recorder* recorder,
                                           dpledger_privatizer** privatizer,
                                           dpledger_error* error) {
  return CreatePrivatizer(options, recorder, /*seed=*/nullptr, privatizer, error);
}

dpledger_status dpledger_privatizer_create_non_private_for_testing(
    const dpledger_privatizer_options* options, dpledger_recorder* recorder, uint64_t seed,
    dpledger_privatizer** privatizer, dpledger_error* error) {
  return CreatePrivatizer(options, recorder, &seed, privatizer, error);
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
  return Guard(error, {{"privatizer", privatizer}}, [&]() -> absl::Status {
    const auto& queries = privatizer->privatizer->queries();
    if (index < queries.size()) return WriteQuery(queries[index], query);
    return dpledger::FieldError("index",
                                absl::StrCat("must be below ", queries.size(), ", got ", index));
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
  return Guard(error, {{"privatizer", privatizer}, {"sampler", sampler}},
               [&] { return privatizer->privatizer->BeginStep(*sampler->sampler, draw); });
}

dpledger_status dpledger_privatizer_begin_step_by_scheme(dpledger_privatizer* privatizer,
                                                         const dpledger_sampling_scheme* scheme,
                                                         dpledger_error* error) {
  return Guard(error, {{"privatizer", privatizer}}, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const auto read, ReadScheme(scheme));
    return privatizer->privatizer->BeginStep(read);
  });
}

dpledger_status dpledger_privatizer_accumulate(dpledger_privatizer* privatizer,
                                               const dpledger_gradient_rows* rows,
                                               dpledger_error* error) {
  return Guard(error, {{"privatizer", privatizer}},
               [&] { return AddRows(*privatizer->privatizer, rows); });
}

dpledger_status dpledger_privatizer_accumulate_with_norms(dpledger_privatizer* privatizer,
                                                          const dpledger_gradient_rows* rows,
                                                          const double* norms, size_t norm_count,
                                                          dpledger_error* error) {
  return Guard(error, {{"privatizer", privatizer}},
               [&] { return AddRows(*privatizer->privatizer, rows, norms, norm_count); });
}

dpledger_status dpledger_privatizer_add_sums_of(dpledger_privatizer* privatizer,
                                                const int64_t* sums, size_t count, uint64_t rows,
                                                dpledger_error* error) {
  return Guard(error, {{"privatizer", privatizer}},
               [&] { return AddSums(*privatizer->privatizer, sums, count, rows); });
}

dpledger_status dpledger_privatizer_add_sums(dpledger_privatizer* privatizer, const int64_t* sums,
                                             size_t count, dpledger_error* error) {
  return dpledger_privatizer_add_sums_of(privatizer, sums, count, /*rows=*/0, error);
}

dpledger_status dpledger_privatizer_finish(dpledger_privatizer* privatizer, float* values,
                                           size_t count, dpledger_error* error) {
  return Guard(error, {{"privatizer", privatizer}, {"values", values}}, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckCount(privatizer->privatizer->dimension(), count));
    return privatizer->privatizer->Finish(absl::MakeSpan(values, count));
  });
}

// ---- Runs with correlated noise ----

dpledger_status dpledger_correlated_run_begin(const dpledger_correlated_options* options,
                                              dpledger_recorder* recorder,
                                              dpledger_correlated_run** run,
                                              dpledger_error* error) {
  return BeginRun(options, recorder, /*seed=*/nullptr, run, error);
}

dpledger_status dpledger_correlated_run_begin_non_private_for_testing(
    const dpledger_correlated_options* options, dpledger_recorder* recorder, uint64_t seed,
    dpledger_correlated_run** run, dpledger_error* error) {
  return BeginRun(options, recorder, &seed, run, error);
}

void dpledger_correlated_run_free(dpledger_correlated_run* run) { delete run; }

size_t dpledger_correlated_run_dimension(const dpledger_correlated_run* run) {
  return run != nullptr ? run->run->dimension() : 0;
}

uint64_t dpledger_correlated_run_steps_done(const dpledger_correlated_run* run) {
  return run != nullptr ? run->run->steps_done() : 0;
}

dpledger_status dpledger_correlated_run_draw(dpledger_correlated_run* run, const uint64_t** records,
                                             size_t* count, dpledger_error* error) {
  return Guard(error, {{"run", run}, {"records", records}, {"count", count}},
               [&]() -> absl::Status {
                 ASSIGN_OR_RETURN(run->records, run->run->DrawStep());
                 *records = run->records.data();
                 *count = run->records.size();
                 return absl::OkStatus();
               });
}

dpledger_status dpledger_correlated_run_accumulate(dpledger_correlated_run* run,
                                                   const dpledger_gradient_rows* rows,
                                                   dpledger_error* error) {
  return Guard(error, {{"run", run}}, [&] { return AddRows(*run->run, rows); });
}

dpledger_status dpledger_correlated_run_accumulate_with_norms(dpledger_correlated_run* run,
                                                              const dpledger_gradient_rows* rows,
                                                              const double* norms,
                                                              size_t norm_count,
                                                              dpledger_error* error) {
  return Guard(error, {{"run", run}}, [&] { return AddRows(*run->run, rows, norms, norm_count); });
}

dpledger_status dpledger_correlated_run_add_sums_of(dpledger_correlated_run* run,
                                                    const int64_t* sums, size_t count,
                                                    uint64_t rows, dpledger_error* error) {
  return Guard(error, {{"run", run}}, [&] { return AddSums(*run->run, sums, count, rows); });
}

dpledger_status dpledger_correlated_run_add_sums(dpledger_correlated_run* run, const int64_t* sums,
                                                 size_t count, dpledger_error* error) {
  return dpledger_correlated_run_add_sums_of(run, sums, count, /*rows=*/0, error);
}

dpledger_status dpledger_correlated_run_finish_step(dpledger_correlated_run* run, float* values,
                                                    size_t count, dpledger_error* error) {
  return Guard(error, {{"run", run}, {"values", values}}, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckCount(run->run->dimension(), count));
    ASSIGN_OR_RETURN(const std::vector<float> estimates, run->run->FinishStep());
    std::copy(estimates.begin(), estimates.end(), values);
    return absl::OkStatus();
  });
}

dpledger_status dpledger_correlated_run_save(dpledger_correlated_run* run, dpledger_error* error) {
  return Guard(error, {{"run", run}}, [&] { return run->run->Save(); });
}

dpledger_status dpledger_cyclic_batch(uint64_t population_size, uint64_t batches_per_epoch,
                                      uint64_t step, uint64_t* begin, uint64_t* end,
                                      dpledger_error* error) {
  return Guard(error, {{"begin", begin}, {"end", end}}, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const auto range,
                     dpledger::client::CyclicBatch(population_size, batches_per_epoch, step));
    *begin = range.begin;
    *end = range.end;
    return absl::OkStatus();
  });
}

// ---- Sums of a rank ----

dpledger_status dpledger_sum_create(const dpledger_privatizer_options* options, dpledger_sum** sum,
                                    dpledger_error* error) {
  using dpledger::client::ClippedSum;
  return GuardNew(error, "sum", sum, {}, [&]() -> absl::StatusOr<ClippedSum> {
    ASSIGN_OR_RETURN(const auto read, ReadPrivatizerOptions(options));
    return ClippedSum::Create(read);
  });
}

void dpledger_sum_free(dpledger_sum* sum) { delete sum; }

size_t dpledger_sum_dimension(const dpledger_sum* sum) {
  return sum != nullptr ? sum->sum.dimension() : 0;
}

double dpledger_sum_clip_norm(const dpledger_sum* sum) {
  return sum != nullptr ? sum->sum.clip_norm() : std::numeric_limits<double>::quiet_NaN();
}

dpledger_status dpledger_sum_accumulate(dpledger_sum* sum, const dpledger_gradient_rows* rows,
                                        dpledger_error* error) {
  return GuardAlone(sum, error, [&] { return AddRows(sum->sum, rows); });
}

dpledger_status dpledger_sum_accumulate_with_norms(dpledger_sum* sum,
                                                   const dpledger_gradient_rows* rows,
                                                   const double* norms, size_t norm_count,
                                                   dpledger_error* error) {
  return GuardAlone(sum, error, [&] { return AddRows(sum->sum, rows, norms, norm_count); });
}

dpledger_status dpledger_sum_add_sums_of(dpledger_sum* sum, const int64_t* sums, size_t count,
                                         uint64_t rows, dpledger_error* error) {
  return GuardAlone(sum, error, [&] { return AddSums(sum->sum, sums, count, rows); });
}

dpledger_status dpledger_sum_add_sums(dpledger_sum* sum, const int64_t* sums, size_t count,
                                      dpledger_error* error) {
  return dpledger_sum_add_sums_of(sum, sums, count, /*rows=*/0, error);
}

uint64_t dpledger_sum_rows(const dpledger_sum* sum) { return sum != nullptr ? sum->sum.rows() : 0; }

dpledger_status dpledger_sum_values(const dpledger_sum* sum, const int64_t** values, size_t* count,
                                    dpledger_error* error) {
  return GuardAlone(sum, error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven({{"values", values}, {"count", count}}));
    *values = sum->sum.sums().data();
    *count = sum->sum.sums().size();
    return absl::OkStatus();
  });
}

dpledger_status dpledger_sum_clear(dpledger_sum* sum, dpledger_error* error) {
  return GuardAlone(sum, error, [&] {
    sum->sum.Clear();
    return absl::OkStatus();
  });
}

dpledger_status dpledger_sum_set_clip_norm(dpledger_sum* sum, double clip_norm,
                                           dpledger_error* error) {
  return GuardAlone(sum, error, [&] { return sum->sum.SetClipNorm(clip_norm); });
}

}  // extern "C"
