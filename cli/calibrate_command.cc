#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "accountant/from_proto/questions.h"
#include "base/status.h"
#include "cli/answer_output.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/question_flags.h"

namespace dpledger::cli {
namespace {

struct CalibrateFlags {
  double epsilon = 0;
  double delta = 0;
  v1::Unknown solve = v1::UNKNOWN_UNSPECIFIED;
  double noise_multiplier = 0;
  double sampling_probability = 0;
  uint64_t steps = 0;
  v1::SamplingScheme::KindCase scheme = v1::SamplingScheme::kPoisson;
  MethodFlags method;
};

// Exactly the parameters that are not solved for must be given.
void CheckGiven(const CLI::Option& option, bool solved_for) {
  if ((option.count() == 0) == solved_for) return;
  throw CLI::ValidationError(option.get_name(),
                             solved_for ? "is what --solve asks for, and must not be given"
                                        : "must be given: all but the one solved for are");
}

absl::Status Calibrate(const CalibrateFlags& flags, Output& out) {
  if (flags.scheme != v1::SamplingScheme::kPoisson) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "scheme: calibration is for Poisson sampling; ",
                          v1::SamplingScheme::descriptor()->FindFieldByNumber(flags.scheme)->name(),
                          " has none here (a full batch is Poisson sampling with probability 1)")),
                      {"NO_ANALYSIS", {}});
  }
  v1::CalibrateRequest request;
  request.set_epsilon(flags.epsilon);
  request.set_delta(flags.delta);
  request.set_solve(flags.solve);
  request.set_noise_multiplier(flags.noise_multiplier);
  request.set_sampling_probability(flags.sampling_probability);
  request.set_steps(flags.steps);
  request.mutable_options()->set_method(flags.method.method);
  request.mutable_options()->set_adjacency(flags.method.adjacency);
  ASSIGN_OR_RETURN(const v1::CalibrateResponse response,
                   accountant::AnswerCalibrate(request, accountant::Limits()));
  out.Answer(ToText(response), ToJson(response));
  return absl::OkStatus();
}

}  // namespace

void AddCalibrateCommand(CLI::App& app, Command& chosen) {
  CLI::App* command = AddCommand(
      app, "calibrate",
      "The noise, the number of steps or the sampling probability that meets a target (epsilon, "
      "delta).",
      "  dpledger calibrate --epsilon 1 --delta 1e-6 --solve noise-multiplier "
      "--sampling-probability 0.005 --steps 20000\n"
      "  dpledger calibrate --epsilon 2 --delta 1e-5 --solve steps --noise-multiplier 1 "
      "--sampling-probability 0.01");
  auto flags = std::make_shared<CalibrateFlags>();
  AddReal(*command, "--epsilon", flags->epsilon, kFinitePositive, "the target, > 0")->required();
  AddReal(*command, "--delta", flags->delta, kOpenUnitInterval, "the target, in (0, 1)")
      ->required();
  AddChoice<v1::Unknown>(*command, "--solve", flags->solve,
                         {{"noise-multiplier", v1::NOISE_MULTIPLIER},
                          {"steps", v1::STEPS},
                          {"sampling-probability", v1::SAMPLING_PROBABILITY}},
                         "noise-multiplier, steps or sampling-probability")
      ->required();
  const CLI::Option* noise = AddReal(*command, "--noise-multiplier", flags->noise_multiplier,
                                     kFinitePositive, "noise over sensitivity, > 0");
  const CLI::Option* probability =
      AddReal(*command, "--sampling-probability", flags->sampling_probability, kProbability,
              "in (0, 1]; 1 is the full batch");
  const CLI::Option* steps = AddCount(*command, "--steps", flags->steps, 1, "the number of rounds");
  AddChoice<v1::SamplingScheme::KindCase>(
      *command, "--scheme", flags->scheme,
      {{"poisson", v1::SamplingScheme::kPoisson},
       {"full-batch", v1::SamplingScheme::kFullBatch},
       {"without-replacement", v1::SamplingScheme::kWithoutReplacement},
       {"with-replacement", v1::SamplingScheme::kWithReplacement},
       {"disjoint-batches", v1::SamplingScheme::kDisjointBatches},
       {"random-allocation", v1::SamplingScheme::kRandomAllocation},
       {"truncated-poisson", v1::SamplingScheme::kTruncatedPoisson}},
      "poisson (default); other schemes are refused");
  flags->method.AddTo(*command);
  command->callback([flags, noise, probability, steps, &chosen] {
    CheckGiven(*noise, flags->solve == v1::NOISE_MULTIPLIER);
    CheckGiven(*probability, flags->solve == v1::SAMPLING_PROBABILITY);
    CheckGiven(*steps, flags->solve == v1::STEPS);
    chosen = [flags](Output& out) { return Calibrate(*flags, out); };
  });
}

}  // namespace dpledger::cli
