// Calibration of the wire's two kinds: parameters by name, and a hole in a list of events.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/calibration/calibration.h"
#include "accountant/calibration/family.h"
#include "base/status.h"
#include "questions/answers.h"
#include "questions/hole.h"
#include "questions/resolved_question.h"

namespace dpledger::questions {
namespace {

// Solves by a method.
using Solver = std::function<absl::StatusOr<accountant::Solution>(const accountant::Options&)>;

absl::StatusOr<accountant::Unknown> UnknownFromProto(v1::Unknown unknown) {
  switch (unknown) {
    case v1::NOISE_MULTIPLIER:
      return accountant::Unknown::kNoiseMultiplier;
    case v1::STEPS:
      return accountant::Unknown::kSteps;
    case v1::SAMPLING_PROBABILITY:
      return accountant::Unknown::kSamplingProbability;
    default:
      return FieldError("solve", "must be NOISE_MULTIPLIER, STEPS or SAMPLING_PROBABILITY");
  }
}

void SetSolution(v1::Unknown unknown, double value, v1::CalibrateResponse& response) {
  switch (unknown) {
    case v1::NOISE_MULTIPLIER:
      return response.set_noise_multiplier(value);
    case v1::STEPS:
      return response.set_steps(static_cast<uint64_t>(value));
    case v1::SAMPLING_PROBABILITY:
      return response.set_sampling_probability(value);
    default:
      return response.set_value(value);
  }
}

v1::CalibrationByMethod ByMethod(accountant::Method method, const Solver& solve,
                                 accountant::Options options) {
  options.method = method;
  v1::CalibrationByMethod result;
  result.set_method(accountant::MethodName(method));
  const absl::StatusOr<accountant::Solution> solution = solve(options);
  if (!solution.ok()) {
    result.set_error(std::string(solution.status().message()));
    return result;
  }
  result.set_value(solution->value);
  *result.mutable_optimum() = ToProto(solution->optimum);
  *result.mutable_epsilon() = ToProto(solution->epsilon.value);
  return result;
}

// `history` states the numbers of records that δ is compared with.
absl::StatusOr<v1::CalibrateResponse> Solved(const v1::CalibrateRequest& request,
                                             const accountant::History& history,
                                             ResolvedQuestion& question, const Solver& solve) {
  ASSIGN_OR_RETURN(const accountant::Solution solution, solve(question.options));
  v1::CalibrateResponse response;
  SetSolution(request.solve(), solution.value, response);
  *response.mutable_optimum() = ToProto(solution.optimum);
  *response.mutable_epsilon() = ToProto(solution.epsilon.value);
  response.set_delta(request.delta());
  Describe(solution.epsilon, question.details);
  if (request.compare_methods()) {
    for (const accountant::Method method :
         {accountant::Method::kGaussian, accountant::Method::kContour, accountant::Method::kPld,
          accountant::Method::kRdp}) {
      *response.add_by_method() = ByMethod(method, solve, question.options);
    }
  }
  SayGuarantee(request.epsilon(), request.delta(), history, question.details);
  *response.mutable_details() = std::move(question.details);
  return response;
}

absl::StatusOr<v1::CalibrateResponse> AnswerParameters(const Subject& spent,
                                                       const v1::CalibrateRequest& request,
                                                       const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(const accountant::Unknown unknown, UnknownFromProto(request.solve()));
  RETURN_IF_ERROR(CheckNotPlanned(request.options()));
  ASSIGN_OR_RETURN(ResolvedQuestion question, Ask(spent, request.options(), limits));
  const accountant::CalibrationTarget target{request.epsilon(), request.delta(),
                                             question.neighbours, spent.history};
  const accountant::CalibrationParameters given{request.noise_multiplier(),
                                                request.sampling_probability(), request.steps()};
  const bool sampled =
      unknown == accountant::Unknown::kSamplingProbability || given.sampling_probability < 1;
  const std::string scheme = sampled ? "poisson" : "full_batch";
  const auto& known = question.details.schemes();
  if (std::find(known.begin(), known.end(), scheme) == known.end()) {
    question.details.add_schemes(scheme);
  }
  const Solver solve =
      [&](const accountant::Options& options) -> absl::StatusOr<accountant::Solution> {
    ASSIGN_OR_RETURN(const accountant::Calibration found,
                     accountant::Calibrate(target, given, unknown, options));
    const double value =
        unknown == accountant::Unknown::kNoiseMultiplier ? found.parameters.noise_multiplier
        : unknown == accountant::Unknown::kSteps ? static_cast<double>(found.parameters.steps)
                                                 : found.parameters.sampling_probability;
    return accountant::Solution{value, found.optimum, found.epsilon};
  };
  return Solved(request, spent.history, question, solve);
}

absl::StatusOr<v1::CalibrateResponse> AnswerHole(const Subject& spent,
                                                 const v1::CalibrateRequest& request,
                                                 const accountant::Limits& limits) {
  if (request.solve() != v1::UNKNOWN_UNSPECIFIED) {
    return FieldError("solve", "must not be set beside events, where `hole` says what is sought");
  }
  if (!(request.epsilon() > 0 && std::isfinite(request.epsilon()))) {
    return FieldError("epsilon", absl::StrCat("must be finite and > 0, got ", request.epsilon()));
  }
  ASSIGN_OR_RETURN(const Hole hole,
                   Hole::At(request.hole(), {request.events().begin(), request.events().end()}));
  const auto filled = [&](double x) -> absl::StatusOr<accountant::History> {
    ASSIGN_OR_RETURN(accountant::History history, hole.Fill(x));
    history.Merge(spent.history);
    return history;
  };
  Subject subject = spent;
  subject.entries += static_cast<uint64_t>(request.events_size());
  ASSIGN_OR_RETURN(subject.history, filled(hole.start()));
  RETURN_IF_ERROR(CheckNotPlanned(request.options()));
  ASSIGN_OR_RETURN(ResolvedQuestion question, Ask(subject, request.options(), limits));
  accountant::Family family;
  family.at = [&](double x) -> absl::StatusOr<accountant::Composition> {
    ASSIGN_OR_RETURN(const accountant::History history, filled(x));
    return accountant::Resolve(history, question.neighbours);
  };
  family.least = hole.least();
  family.greatest = hole.greatest();
  family.unit = hole.unit();
  family.start = hole.start();
  const Solver solve = [&](const accountant::Options& options) {
    return accountant::Solve(family, request.epsilon(), request.delta(), options);
  };
  return Solved(request, subject.history, question, solve);
}

// Where nothing is left, how much was spent.
absl::Status SayWhatWasSpent(const Subject& spent, const v1::CalibrateRequest& request,
                             const accountant::Limits& limits, const absl::Status& refusal) {
  v1::ComputeEpsilonRequest alone;
  alone.set_delta(request.delta());
  *alone.mutable_options() = request.options();
  ASSIGN_OR_RETURN(const v1::ComputeEpsilonResponse answer, Answer(spent, alone, limits));
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat(refusal.message(), "; what was spent comes to an epsilon of ",
                                     answer.epsilon().upper(), " alone")),
                    ReasonOf(refusal));
}

}  // namespace

absl::StatusOr<v1::CalibrateResponse> Answer(const Subject& spent,
                                             const v1::CalibrateRequest& request,
                                             const accountant::Limits& limits) {
  if (request.events_size() == 0 && !request.hole().empty()) {
    return FieldError("events", "must hold the events that `hole` points into");
  }
  auto answer = request.events_size() > 0 ? AnswerHole(spent, request, limits)
                                          : AnswerParameters(spent, request, limits);
  if (ReasonOf(answer.status()).reason == "NO_SOLUTION" && !spent.history.Empty()) {
    return SayWhatWasSpent(spent, request, limits, answer.status());
  }
  return answer;
}

absl::StatusOr<v1::CalibrateResponse> AnswerAlone(const v1::CalibrateRequest& request,
                                                  const accountant::Limits& limits) {
  return Answer(Subject(), request, limits);
}

}  // namespace dpledger::questions
