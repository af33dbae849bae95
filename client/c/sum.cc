// The sums of a rank, in the C interface.
#include <limits>
#include <utility>

#include "base/status.h"
#include "client/c/accumulate.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/options.h"
#include "client/clipped_sum.h"

using dpledger::client::ClippedSum;
using dpledger::client::c::CheckGiven;
using dpledger::client::c::Guard;

namespace {

// Guard for a call on a sum, which no other thread may be using.
template <typename Sum, typename Body>
dpledger_status GuardAlone(Sum* sum, dpledger_error* error, const Body& body) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(sum, "sum"));
    const dpledger::client::internal::InUse::Call call(sum->in_use);
    RETURN_IF_ERROR(call.CheckAlone("sum"));
    return body();
  });
}

}  // namespace

extern "C" {

dpledger_status dpledger_sum_create(const dpledger_privatizer_options* options, dpledger_sum** sum,
                                    dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(sum, "sum"));
    *sum = nullptr;
    ASSIGN_OR_RETURN(const auto read, dpledger::client::c::ReadPrivatizerOptions(options));
    ASSIGN_OR_RETURN(ClippedSum made, ClippedSum::Create(read));
    *sum = new dpledger_sum{std::move(made)};
    return absl::OkStatus();
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
  return GuardAlone(sum, error,
                    [&]() -> absl::Status { return dpledger::client::c::AddRows(sum->sum, rows); });
}

dpledger_status dpledger_sum_accumulate_with_norms(dpledger_sum* sum,
                                                   const dpledger_gradient_rows* rows,
                                                   const double* norms, size_t norm_count,
                                                   dpledger_error* error) {
  return GuardAlone(sum, error, [&]() -> absl::Status {
    return dpledger::client::c::AddRowsWithNorms(sum->sum, rows, norms, norm_count);
  });
}

dpledger_status dpledger_sum_add_sums(dpledger_sum* sum, const int64_t* sums, size_t count,
                                      dpledger_error* error) {
  return GuardAlone(sum, error, [&]() -> absl::Status {
    return dpledger::client::c::AddSums(sum->sum, sums, count);
  });
}

dpledger_status dpledger_sum_values(const dpledger_sum* sum, const int64_t** values, size_t* count,
                                    dpledger_error* error) {
  return GuardAlone(sum, error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(values, "values"));
    RETURN_IF_ERROR(CheckGiven(count, "count"));
    *values = sum->sum.sums().data();
    *count = sum->sum.sums().size();
    return absl::OkStatus();
  });
}

dpledger_status dpledger_sum_clear(dpledger_sum* sum, dpledger_error* error) {
  return GuardAlone(sum, error, [&]() -> absl::Status {
    sum->sum.Clear();
    return absl::OkStatus();
  });
}

dpledger_status dpledger_sum_set_clip_norm(dpledger_sum* sum, double clip_norm,
                                           dpledger_error* error) {
  return GuardAlone(sum, error, [&]() -> absl::Status { return sum->sum.SetClipNorm(clip_norm); });
}

}  // extern "C"
