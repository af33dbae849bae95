// The recorder of the C interface.
#include <climits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/options.h"
#include "client/c/read.h"
#include "client/c/scheme.h"
#include "client/event_recorder.h"
#include "dpledger/v1/ledger.pb.h"
#include "events/event_values.h"
#include "events/field_checks.h"

namespace dpledger::client::c {
namespace {

template <typename Message>
absl::StatusOr<Message> Parse(const char* field, const void* bytes, size_t size) {
  RETURN_IF_ERROR(CheckGiven(bytes, field));
  Message message;
  if (size > INT_MAX || !message.ParseFromArray(bytes, static_cast<int>(size))) {
    return FieldError(field, absl::StrCat("must be a serialised ", Message::descriptor()->name(),
                                          ", got ", size, " bytes that are not"));
  }
  return message;
}

}  // namespace

}  // namespace dpledger::client::c

using dpledger::client::c::CheckGiven;
using dpledger::client::c::Guard;
using dpledger::client::c::Report;

extern "C" {

dpledger_status dpledger_recorder_open(const dpledger_recorder_options* options,
                                       dpledger_recorder** recorder, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    *recorder = nullptr;
    ASSIGN_OR_RETURN(const auto read, dpledger::client::c::ReadRecorderOptions(options));
    ASSIGN_OR_RETURN(auto opened, dpledger::Recorder::Open(read));
    *recorder = new dpledger_recorder{std::move(opened)};
    return absl::OkStatus();
  });
}

dpledger_status dpledger_recorder_close(dpledger_recorder* recorder, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    return recorder->recorder->Close();
  });
}

dpledger_status dpledger_recorder_seal(dpledger_recorder* recorder, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    return recorder->recorder->Seal();
  });
}

void dpledger_recorder_free(dpledger_recorder* recorder) { delete recorder; }

const char* dpledger_recorder_ledger(const dpledger_recorder* recorder) {
  return recorder != nullptr ? recorder->recorder->ledger().c_str() : nullptr;
}

dpledger_status dpledger_recorder_drain_status(const dpledger_recorder* recorder,
                                               uint64_t* undelivered_batches,
                                               dpledger_error* last_error, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    RETURN_IF_ERROR(CheckGiven(undelivered_batches, "undelivered_batches"));
    const auto status = recorder->recorder->drain_status();
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
    ASSIGN_OR_RETURN(const auto read_queries,
                     dpledger::client::c::ReadQueries(queries, query_count));
    ASSIGN_OR_RETURN(*number, recorder->recorder->RecordRound(read_scheme, read_queries));
    return absl::OkStatus();
  });
}

dpledger_status dpledger_recorder_record_mechanism(dpledger_recorder* recorder, const void* event,
                                                   size_t size, uint64_t* number,
                                                   dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    RETURN_IF_ERROR(CheckGiven(number, "number"));
    ASSIGN_OR_RETURN(const auto mechanism, dpledger::client::c::Parse<dpledger::v1::MechanismEvent>(
                                               "event", event, size));
    ASSIGN_OR_RETURN(*number, recorder->recorder->events()->RecordMechanism(mechanism));
    return absl::OkStatus();
  });
}

dpledger_status dpledger_recorder_request_grant(dpledger_recorder* recorder, const void* grant,
                                                size_t size, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    ASSIGN_OR_RETURN(const auto parsed,
                     dpledger::client::c::Parse<dpledger::v1::BudgetGrant>("grant", grant, size));
    std::vector<dpledger::accountant::Event> plan;
    for (int i = 0; i < parsed.plan_size(); ++i) {
      auto event = dpledger::events::ValueOf(parsed.plan(i));
      if (!event.ok()) {
        return dpledger::events::Within(dpledger::events::Element("plan", i), event.status());
      }
      plan.push_back(*std::move(event));
    }
    return recorder->recorder->RequestGrant(plan);
  });
}

dpledger_status dpledger_recorder_await_releasable(dpledger_recorder* recorder, uint64_t number,
                                                   dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    return recorder->recorder->AwaitReleasable(number);
  });
}

dpledger_status dpledger_recorder_export(const dpledger_recorder* recorder, const char* file,
                                         dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    ASSIGN_OR_RETURN(const std::string path, dpledger::client::c::ReadText("file", file));
    return recorder->recorder->Export(path);
  });
}

}  // extern "C"
