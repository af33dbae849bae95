#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/answer_output.h"
#include "cli/calibration_grid.h"
#include "cli/commands.h"
#include "cli/event_file.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/question_flags.h"
#include "ledger/questions.h"

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
  std::string events, hole;
  bool compare = false;
  Grid grid;
};

// Exactly the parameters that are not solved for must be given.
void CheckGiven(const CLI::Option& option, bool solved_for) {
  if ((option.count() == 0) == solved_for) return;
  throw CLI::ValidationError(option.get_name(),
                             solved_for ? "is what is sought, and must not be given"
                                        : "must be given: all but the one solved for are");
}

absl::Status Calibrate(const CalibrateFlags& flags, Output& out) {
  if (flags.scheme != v1::SamplingScheme::kPoisson) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "scheme: calibration is for Poisson sampling; ",
                          v1::SamplingScheme::descriptor()->FindFieldByNumber(flags.scheme)->name(),
                          " has none here (a full batch is Poisson sampling with probability 1); "
                          "any scheme may stand in an event file with --hole")),
                      {"NO_ANALYSIS", {}});
  }
  v1::CalibrateRequest request;
  if (!flags.events.empty()) {
    ASSIGN_OR_RETURN(const EventFile file, ReadEventFile(flags.events));
    request.mutable_events()->Assign(file.events.begin(), file.events.end());
    request.set_hole(flags.hole);
  }
  request.set_compare_methods(flags.compare);
  request.set_epsilon(flags.epsilon);
  request.set_delta(flags.delta);
  request.set_solve(flags.solve);
  request.set_noise_multiplier(flags.noise_multiplier);
  request.set_sampling_probability(flags.sampling_probability);
  request.set_steps(flags.steps);
  *request.mutable_options() = flags.method.Options();
  if (!flags.grid.values.empty()) return CalibrateGrid(flags.grid, std::move(request), out);
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
      "--sampling-probability 0.01\n"
      "  dpledger calibrate --epsilon 1 --delta 1e-6 --solve noise-multiplier --steps 1000 "
      "--grid batch-size=100,1000,10000 --population 60000\n"
      "  dpledger calibrate --epsilon 1 --delta 1e-6 --events run.jsonl "
      "--hole 'events[0].rounds.queries[0].noise_stddev'");
  auto flags = std::make_shared<CalibrateFlags>();
  AddReal(*command, "--epsilon", flags->epsilon, kFinitePositive, "the target, > 0")->required();
  AddReal(*command, "--delta", flags->delta, kOpenUnitInterval, "the target, in (0, 1)")
      ->required();
  const CLI::Option* solve =
      AddChoice<v1::Unknown>(*command, "--solve", flags->solve,
                             {{"noise-multiplier", v1::NOISE_MULTIPLIER},
                              {"steps", v1::STEPS},
                              {"sampling-probability", v1::SAMPLING_PROBABILITY}},
                             "what is to be found");
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
      "how records are sampled; poisson unless told, and others are refused");
  const CLI::Option* events =
      command
          ->add_option("--events", flags->events,
                       "an event file; --hole says which number in it is sought")
          ->type_name("FILE");
  const CLI::Option* hole =
      command
          ->add_option("--hole", flags->hole,
                       "the path of the number sought: events[LINE].FIELD..., lines from 0")
          ->type_name("PATH");
  command->add_flag("--compare", flags->compare, "also solve by each method alone");
  AddGrid(*command, flags->grid);
  flags->method.AddTo(*command);
  command->callback([=, &chosen] {
    if (events->count() > 0 || hole->count() > 0) {
      if (events->count() == 0 || hole->count() == 0) {
        throw CLI::ValidationError("--hole",
                                   "goes with --events FILE, and --events with --hole PATH");
      }
      for (const CLI::Option* option : {solve, noise, probability, steps})
        CheckGiven(*option, true);
      if (!flags->grid.values.empty()) {
        throw CLI::ValidationError("--grid", "is for --solve, not for --hole");
      }
    } else {
      if (solve->count() == 0) throw CLI::RequiredError("--solve");
      const std::string varied = flags->grid.Varied();
      flags->grid.Check(flags->solve);
      CheckGiven(*noise, flags->solve == v1::NOISE_MULTIPLIER);
      CheckGiven(*probability,
                 flags->solve == v1::SAMPLING_PROBABILITY || varied == "--sampling-probability");
      CheckGiven(*steps, flags->solve == v1::STEPS || varied == "--steps");
    }
    chosen = [flags](Output& out) { return Calibrate(*flags, out); };
  });
}

}  // namespace dpledger::cli
