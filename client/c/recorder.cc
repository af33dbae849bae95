// The recorder of the C interface.
#include "client/recorder.h"

#include <climits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/options.h"
#include "client/c/scheme.h"

namespace dpledger::client::c {
namespace {

absl::StatusOr<v1::MechanismEvent> ParseMechanism(const void* event, size_t size) {
  RETURN_IF_ERROR(CheckGiven(event, "event"));
  v1::MechanismEvent mechanism;
  if (size > INT_MAX || !mechanism.ParseFromArray(event, static_cast<int>(size))) {
    return FieldError("event", absl::StrCat("must be a serialised MechanismEvent, got ", size,
                                            " bytes that are not"));
  }
  return mechanism;
}

}  // namespace

absl::Status CheckEpochKept(const Opened& opened, const v1::SamplingScheme& scheme,
                            const Opened* drawn_for) {
  const bool epochs = scheme.has_disjoint_batches() || scheme.has_random_allocation();
  if (drawn_for == &opened || (drawn_for == nullptr && (opened.state == nullptr || !epochs))) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      drawn_for == nullptr ? "scheme: the recorder's state keeps epochs, so that its own sampler "
                             "(dpledger_sampler_create_resumable) must draw them"
                           : "sampler: was made to be kept with another recorder");
}

}  // namespace dpledger::client::c

using dpledger::client::PrivacyRecorder;
using dpledger::client::RunPosition;
using dpledger::client::c::CheckGiven;
using dpledger::client::c::Guard;
using dpledger::client::c::Opened;
using dpledger::client::c::Report;

extern "C" {

dpledger_status dpledger_recorder_open(const dpledger_recorder_options* options,
                                       dpledger_recorder** recorder, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    *recorder = nullptr;
    ASSIGN_OR_RETURN(auto read, dpledger::client::c::ReadRecorderOptions(options));
    auto opened = std::make_shared<Opened>();
    ASSIGN_OR_RETURN(opened->state, dpledger::client::c::OpenState(options, read.spool_folder));
    if (opened->state != nullptr) {
      read.carries_epochs = [state = opened->state.get()](const RunPosition& position) {
        return state->CarryOn(position);
      };
    }
    ASSIGN_OR_RETURN(opened->recorder, PrivacyRecorder::Open(std::move(read)));
    *recorder = new dpledger_recorder{std::move(opened)};
    return absl::OkStatus();
  });
}

dpledger_status dpledger_recorder_close(dpledger_recorder* recorder, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    return recorder->opened->recorder->Close();
  });
}

void dpledger_recorder_free(dpledger_recorder* recorder) { delete recorder; }

const char* dpledger_recorder_ledger(const dpledger_recorder* recorder) {
  return recorder != nullptr ? recorder->opened->recorder->ledger().c_str() : nullptr;
}

dpledger_status dpledger_recorder_drain_status(const dpledger_recorder* recorder,
                                               uint64_t* undelivered_batches,
                                               dpledger_error* last_error, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    RETURN_IF_ERROR(CheckGiven(undelivered_batches, "undelivered_batches"));
    const PrivacyRecorder::DrainStatus status = recorder->opened->recorder->drain_status();
    *undelivered_batches = status.undelivered_batches;
    Report(status.last_error, last_error);
    return absl::OkStatus();
  });
}

dpledger_status dpledger_recorder_record_round(dpledger_recorder* recorder,
                                               const dpledger_sampling_scheme* scheme,
                                               const dpledger_sum_query* queries,
                                               size_t query_count, uint64_t* number,
                                               dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    RETURN_IF_ERROR(CheckGiven(number, "number"));
    ASSIGN_OR_RETURN(const auto read_scheme, dpledger::client::c::ReadScheme(scheme));
    RETURN_IF_ERROR(dpledger::client::c::CheckEpochKept(*recorder->opened, read_scheme,
                                                        /*drawn_for=*/nullptr));
    ASSIGN_OR_RETURN(auto read_queries, dpledger::client::c::ReadQueries(queries, query_count));
    ASSIGN_OR_RETURN(*number,
                     recorder->opened->recorder->RecordRound(read_scheme, std::move(read_queries)));
    return absl::OkStatus();
  });
}

dpledger_status dpledger_recorder_record_mechanism(dpledger_recorder* recorder, const void* event,
                                                   size_t size, uint64_t* number,
                                                   dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    RETURN_IF_ERROR(CheckGiven(number, "number"));
    ASSIGN_OR_RETURN(const auto mechanism, dpledger::client::c::ParseMechanism(event, size));
    ASSIGN_OR_RETURN(*number, recorder->opened->recorder->RecordMechanism(mechanism));
    return absl::OkStatus();
  });
}

dpledger_status dpledger_recorder_await_releasable(dpledger_recorder* recorder, uint64_t number,
                                                   dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    return recorder->opened->recorder->AwaitReleasable(number);
  });
}

}  // extern "C"
