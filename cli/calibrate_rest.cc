#include "cli/calibrate_rest.h"

#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/number_text.h"
#include "cli/server_calls.h"

namespace dpledger::cli {
namespace {

constexpr double kTolerance = 1e-4;
constexpr double kLeastNoise = 1e-3, kMostNoise = 1e9;
constexpr double kLeastProbability = 1e-12;
constexpr double kMostSteps = 0x1p53;

// Asks for epsilon of the ledgers with a run more.
class Asker {
 public:
  explicit Asker(const RestFlags& flags) : flags_(flags), calls_(flags.question.place) {}

  absl::Status Begin() {
    request_.set_delta(flags_.delta);
    *request_.mutable_options() = flags_.question.Options();
    ASSIGN_OR_RETURN(*request_.mutable_subject(), flags_.question.LedgersOf(calls_));
    return absl::OkStatus();
  }

  absl::StatusOr<v1::ComputeEpsilonResponse> Alone() { return calls_.Ask(request_); }

  absl::StatusOr<v1::ComputeEpsilonResponse> With(double value) {
    RunFlags run = flags_.run;
    if (flags_.solve == v1::NOISE_MULTIPLIER) run.noise_multiplier = value;
    if (flags_.solve == v1::SAMPLING_PROBABILITY) run.sampling_probability = value;
    if (flags_.solve == v1::STEPS) run.steps = static_cast<uint64_t>(value);
    v1::ComputeEpsilonRequest request = request_;
    for (v1::Event& event : run.Events()) {
      *request.mutable_subject()->add_events() = std::move(event);
    }
    return calls_.Ask(request);
  }

  void Assume(v1::AnswerDetails& details) const {
    calls_.Assume(details);
    if (flags_.solve == v1::SAMPLING_PROBABILITY) return;
    for (std::string& one : flags_.run.Assumptions()) details.add_assumptions(std::move(one));
  }

 private:
  const RestFlags& flags_;
  ServerCalls calls_;
  v1::ComputeEpsilonRequest request_;
};

// A value between two, nearer to the end of the search: in logarithms, and whole for steps.
double Between(double safe, double unsafe, bool whole) {
  const double middle = std::sqrt(safe) * std::sqrt(unsafe);
  return whole ? std::floor(middle) : middle;
}

bool AreClose(double safe, double unsafe, bool whole) {
  return whole ? std::fabs(safe - unsafe) <= 1
               : std::fabs(safe - unsafe) <= kTolerance * std::fmin(safe, unsafe);
}

void SetSolution(v1::Unknown solve, double value, v1::CalibrateResponse& response) {
  if (solve == v1::NOISE_MULTIPLIER) response.set_noise_multiplier(value);
  if (solve == v1::SAMPLING_PROBABILITY) response.set_sampling_probability(value);
  if (solve == v1::STEPS) response.set_steps(static_cast<uint64_t>(value));
}

absl::Status NoSolution(const RestFlags& flags, double alone) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        "epsilon: no value meets ", TextNear(flags.epsilon), " at delta ",
                        TextNear(flags.delta), ": the ledgers alone come to ", TextUp(alone))),
                    {"NO_SOLUTION", {{"field", "epsilon"}}});
}

}  // namespace

absl::StatusOr<v1::CalibrateResponse> SolveRest(const RestFlags& flags) {
  Asker asker(flags);
  RETURN_IF_ERROR(asker.Begin());
  ASSIGN_OR_RETURN(const v1::ComputeEpsilonResponse alone, asker.Alone());
  const double spent = alone.epsilon().upper();
  if (spent >= flags.epsilon) return NoSolution(flags, spent);

  const bool whole = flags.solve == v1::STEPS;
  const bool falls = flags.solve == v1::NOISE_MULTIPLIER;  // epsilon, as the value grows
  const double least = whole ? 1 : falls ? kLeastNoise : kLeastProbability;
  const double most = whole ? kMostSteps : falls ? kMostNoise : 1;
  std::optional<v1::ComputeEpsilonResponse> kept;  // at `safe`
  const auto is_safe = [&](double value) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(v1::ComputeEpsilonResponse answer, asker.With(value));
    const bool safe = answer.epsilon().upper() <= flags.epsilon;
    if (safe) kept = std::move(answer);
    return safe;
  };
  // Outwards from 1 (a probability: from its greatest), until the target lies between.
  double safe = 0, unsafe = 0;
  double value = 1;
  ASSIGN_OR_RETURN(const bool first, is_safe(value));
  (first ? safe : unsafe) = value;
  const double factor = (first == falls) ? 0.5 : 2;  // towards the other side
  while (safe == 0 || unsafe == 0) {
    value *= factor * factor;
    if (value < least || value > most) {
      if (safe == 0) return NoSolution(flags, spent);
      unsafe = std::fmin(std::fmax(value, least), most);  // all that can be is safe
      safe = unsafe;
      ASSIGN_OR_RETURN(const bool at_end, is_safe(safe));
      if (!at_end) return NoSolution(flags, spent);
      break;
    }
    ASSIGN_OR_RETURN(const bool now, is_safe(value));
    (now ? safe : unsafe) = value;
  }
  while (!AreClose(safe, unsafe, whole)) {
    const double middle = Between(safe, unsafe, whole);
    if (middle == safe || middle == unsafe) break;
    ASSIGN_OR_RETURN(const bool now, is_safe(middle));
    (now ? safe : unsafe) = middle;
  }
  // Beyond where epsilon may still be the target.
  double beyond = unsafe;
  for (double wider = 1e-3; beyond != safe; wider *= 2) {
    ASSIGN_OR_RETURN(const v1::ComputeEpsilonResponse answer, asker.With(beyond));
    if (answer.epsilon().lower() > flags.epsilon) break;
    beyond = falls ? unsafe / (1 + wider) : unsafe * (1 + wider);
    if (whole) beyond = std::ceil(beyond);
    if (beyond >= least && beyond <= most && wider < 1) continue;
    beyond = falls ? least : most;
    break;
  }
  v1::CalibrateResponse response;
  SetSolution(flags.solve, safe, response);
  response.mutable_optimum()->set_lower(std::fmin(safe, beyond));
  response.mutable_optimum()->set_upper(std::fmax(safe, beyond));
  *response.mutable_epsilon() = kept->epsilon();
  response.set_delta(flags.delta);
  *response.mutable_details() = kept->details();
  asker.Assume(*response.mutable_details());
  return response;
}

}  // namespace dpledger::cli
