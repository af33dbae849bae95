// Runs with correlated noise, in the C interface.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/c/accumulate.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/options.h"
#include "client/correlated_privatizer.h"
#include "client/fixed_batches.h"

namespace dpledger::client::c {
namespace {

dpledger_status BeginRun(const dpledger_correlated_options* options, dpledger_recorder* recorder,
                         const uint64_t* seed, dpledger_correlated_run** run,
                         dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(run, "run"));
    *run = nullptr;
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    ASSIGN_OR_RETURN(const CorrelatedOptions read, ReadCorrelatedOptions(options));
    const auto events = recorder->recorder->events();
    ASSIGN_OR_RETURN(auto begun,
                     seed == nullptr
                         ? CorrelatedPrivatizer::BeginRun(read, events)
                         : CorrelatedPrivatizer::BeginNonPrivateRunForTesting(read, events, *seed));
    *run = new dpledger_correlated_run{std::move(begun)};
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace dpledger::client::c

using dpledger::client::c::CheckGiven;
using dpledger::client::c::Guard;

extern "C" {

dpledger_status dpledger_correlated_run_begin(const dpledger_correlated_options* options,
                                              dpledger_recorder* recorder,
                                              dpledger_correlated_run** run,
                                              dpledger_error* error) {
  return dpledger::client::c::BeginRun(options, recorder, /*seed=*/nullptr, run, error);
}

dpledger_status dpledger_correlated_run_begin_non_private_for_testing(
    const dpledger_correlated_options* options, dpledger_recorder* recorder, uint64_t seed,
    dpledger_correlated_run** run, dpledger_error* error) {
  return dpledger::client::c::BeginRun(options, recorder, &seed, run, error);
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
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(run, "run"));
    RETURN_IF_ERROR(CheckGiven(records, "records"));
    RETURN_IF_ERROR(CheckGiven(count, "count"));
    ASSIGN_OR_RETURN(run->records, run->run->DrawStep());
    *records = run->records.data();
    *count = run->records.size();
    return absl::OkStatus();
  });
}

dpledger_status dpledger_correlated_run_accumulate(dpledger_correlated_run* run,
                                                   const dpledger_gradient_rows* rows,
                                                   dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(run, "run"));
    return dpledger::client::c::AddRows(*run->run, rows);
  });
}

dpledger_status dpledger_correlated_run_accumulate_with_norms(dpledger_correlated_run* run,
                                                              const dpledger_gradient_rows* rows,
                                                              const double* norms,
                                                              size_t norm_count,
                                                              dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(run, "run"));
    return dpledger::client::c::AddRowsWithNorms(*run->run, rows, norms, norm_count);
  });
}

dpledger_status dpledger_correlated_run_add_sums(dpledger_correlated_run* run, const int64_t* sums,
                                                 size_t count, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(run, "run"));
    return dpledger::client::c::AddSums(*run->run, sums, count);
  });
}

dpledger_status dpledger_correlated_run_finish_step(dpledger_correlated_run* run, float* values,
                                                    size_t count, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(run, "run"));
    RETURN_IF_ERROR(dpledger::client::c::CheckBuffer(*run->run, values, count));
    ASSIGN_OR_RETURN(const std::vector<float> estimates, run->run->FinishStep());
    std::copy(estimates.begin(), estimates.end(), values);
    return absl::OkStatus();
  });
}

dpledger_status dpledger_correlated_run_save(dpledger_correlated_run* run, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(run, "run"));
    return run->run->Save();
  });
}

dpledger_status dpledger_cyclic_batch(uint64_t population_size, uint64_t batches_per_epoch,
                                      uint64_t step, uint64_t* begin, uint64_t* end,
                                      dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(begin, "begin"));
    RETURN_IF_ERROR(CheckGiven(end, "end"));
    ASSIGN_OR_RETURN(const auto range,
                     dpledger::client::CyclicBatch(population_size, batches_per_epoch, step));
    *begin = range.begin;
    *end = range.end;
    return absl::OkStatus();
  });
}

}  // extern "C"
