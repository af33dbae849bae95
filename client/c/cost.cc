// What a trainer asks its server, in the C interface.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/status.h"
#include "client/c/calls.h"
#include "client/c/handles.h"
#include "client/c/options.h"
#include "client/questions.h"

using namespace dpledger::client::c;  // NOLINT: the functions below are all of this file
using dpledger::client::CalibrateNoise;

extern "C" {

dpledger_status dpledger_recorder_cost(const dpledger_recorder* recorder, double delta,
                                       dpledger_cost** cost, dpledger_error* error) {
  return GuardNew(error, "cost", cost, {{"recorder", recorder}},
                  [&]() -> absl::StatusOr<dpledger_cost> {
                    dpledger_cost made;
                    ASSIGN_OR_RETURN(made.cost, recorder->recorder->ComputeCost(delta));
                    for (const auto& one : made.cost.warnings) made.warnings.push_back(one.c_str());
                    return made;
                  });
}

dpledger_status dpledger_cost_read(const dpledger_cost* cost, dpledger_cost_values* values,
                                   dpledger_error* error) {
  return Guard(error, {{"cost", cost}}, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const auto given, ReadStruct<dpledger_cost_values>("values", values));
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    const dpledger::Cost& answer = cost->cost;
    const auto planned = answer.planned_epsilon.value_or(dpledger::Interval{kNone, kNone});
    const dpledger_cost_values written = {
        .struct_size = given.struct_size,
        .lower = answer.epsilon.lower,
        .upper = answer.epsilon.upper,
        .planned_lower = planned.lower,
        .planned_upper = planned.upper,
        .delta = answer.delta,
        .entries = answer.entries,
        .ledger = answer.ledger.c_str(),
        .root = answer.root.c_str(),
        .method = answer.method.c_str(),
        .warnings = cost->warnings.empty() ? nullptr : cost->warnings.data(),
        .warning_count = cost->warnings.size()};
    std::memcpy(values, &written, std::min(sizeof(written), given.struct_size));
    return absl::OkStatus();
  });
}

dpledger_status dpledger_cost_answer(dpledger_cost* cost, const void** data, size_t* size,
                                     dpledger_error* error) {
  return Guard(error, {{"cost", cost}, {"data", data}, {"size", size}}, [&] {
    *data = cost->cost.answer.data();
    *size = cost->cost.answer.size();
    return absl::OkStatus();
  });
}

void dpledger_cost_free(dpledger_cost* cost) { delete cost; }

dpledger_status dpledger_calibrate_noise(const char* server, double epsilon, double delta,
                                         double sampling_probability, uint64_t steps,
                                         double* noise_multiplier, dpledger_error* error) {
  return Guard(error, {{"noise_multiplier", noise_multiplier}}, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::string address, ReadText("server", server));
    ASSIGN_OR_RETURN(*noise_multiplier,
                     CalibrateNoise(address, {epsilon, delta}, sampling_probability, steps));
    return absl::OkStatus();
  });
}

dpledger_status dpledger_calibrate_correlated_noise(const char* server,
                                                    const dpledger_correlated_options* options,
                                                    int32_t adjacency, double epsilon, double delta,
                                                    double* noise_multiplier,
                                                    dpledger_error* error) {
  return Guard(error, {{"noise_multiplier", noise_multiplier}}, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::string address, ReadText("server", server));
    ASSIGN_OR_RETURN(auto read, ReadCorrelatedOptions(options));
    RETURN_IF_ERROR(CheckConstant("adjacency", adjacency, DPLEDGER_REPLACE_ONE, DPLEDGER_ZERO_OUT));
    const auto value = static_cast<dpledger::Adjacency>(adjacency - DPLEDGER_ADD_OR_REMOVE_ONE);
    ASSIGN_OR_RETURN(*noise_multiplier,
                     CalibrateNoise(address, {epsilon, delta}, std::move(read), value));
    return absl::OkStatus();
  });
}

}  // extern "C"
