// What a trainer asks its server, in the C interface.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/status.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/options.h"
#include "client/c/read.h"
#include "client/questions.h"

using dpledger::client::Target;
using dpledger::client::c::CheckGiven;
using dpledger::client::c::Guard;
using dpledger::client::c::ReadText;

extern "C" {

dpledger_status dpledger_recorder_cost(const dpledger_recorder* recorder, double delta,
                                       dpledger_cost** cost, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(cost, "cost"));
    *cost = nullptr;
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    auto made = std::make_unique<dpledger_cost>();
    ASSIGN_OR_RETURN(made->cost, recorder->recorder->ComputeCost(delta));
    for (const std::string& warning : made->cost.warnings)
      made->warnings.push_back(warning.c_str());
    *cost = made.release();
    return absl::OkStatus();
  });
}

dpledger_status dpledger_cost_read(const dpledger_cost* cost, dpledger_cost_values* values,
                                   dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(cost, "cost"));
    ASSIGN_OR_RETURN(const auto given,
                     dpledger::client::c::ReadStruct<dpledger_cost_values>("values", values));
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    const dpledger::Cost& answer = cost->cost;
    const auto planned = answer.planned_epsilon.value_or(dpledger::Interval{kNone, kNone});
    dpledger_cost_values written = {};
    written.struct_size = given.struct_size;
    written.lower = answer.epsilon.lower;
    written.upper = answer.epsilon.upper;
    written.planned_lower = planned.lower;
    written.planned_upper = planned.upper;
    written.delta = answer.delta;
    written.entries = answer.entries;
    written.ledger = answer.ledger.c_str();
    written.root = answer.root.c_str();
    written.method = answer.method.c_str();
    written.warnings = cost->warnings.empty() ? nullptr : cost->warnings.data();
    written.warning_count = cost->warnings.size();
    std::memcpy(values, &written, std::min(sizeof(written), given.struct_size));
    return absl::OkStatus();
  });
}

dpledger_status dpledger_cost_answer(dpledger_cost* cost, const void** data, size_t* size,
                                     dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(cost, "cost"));
    RETURN_IF_ERROR(CheckGiven(data, "data"));
    RETURN_IF_ERROR(CheckGiven(size, "size"));
    *data = cost->cost.answer.data();
    *size = cost->cost.answer.size();
    return absl::OkStatus();
  });
}

void dpledger_cost_free(dpledger_cost* cost) { delete cost; }

dpledger_status dpledger_calibrate_noise(const char* server, double epsilon, double delta,
                                         double sampling_probability, uint64_t steps,
                                         double* noise_multiplier, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(noise_multiplier, "noise_multiplier"));
    ASSIGN_OR_RETURN(const std::string address, ReadText("server", server));
    ASSIGN_OR_RETURN(*noise_multiplier,
                     dpledger::client::CalibrateNoise(address, Target{epsilon, delta},
                                                      sampling_probability, steps));
    return absl::OkStatus();
  });
}

dpledger_status dpledger_calibrate_correlated_noise(const char* server,
                                                    const dpledger_correlated_options* options,
                                                    int32_t adjacency, double epsilon, double delta,
                                                    double* noise_multiplier,
                                                    dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(noise_multiplier, "noise_multiplier"));
    ASSIGN_OR_RETURN(const std::string address, ReadText("server", server));
    ASSIGN_OR_RETURN(auto read, dpledger::client::c::ReadCorrelatedOptions(options));
    RETURN_IF_ERROR(dpledger::client::c::CheckConstant("adjacency", adjacency, DPLEDGER_REPLACE_ONE,
                                                       DPLEDGER_ZERO_OUT));
    ASSIGN_OR_RETURN(*noise_multiplier,
                     dpledger::client::CalibrateNoise(
                         address, Target{epsilon, delta}, std::move(read),
                         static_cast<dpledger::Adjacency>(adjacency - DPLEDGER_ADD_OR_REMOVE_ONE)));
    return absl::OkStatus();
  });
}

}  // extern "C"
