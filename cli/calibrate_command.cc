#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/calibration_grid.h"
#include "cli/commands.h"
#include "cli/event_file.h"
#include "cli/flags.h"
#include "cli/ledger_place.h"
#include "cli/question_flags.h"
#include "cli/server_calls.h"
#include "questions/answers.h"

namespace dpledger::cli {
namespace {

struct CalibrateFlags {
  double epsilon = 0;
  double delta = 0;
  v1::Unknown solve = v1::UNKNOWN_UNSPECIFIED;
  RunFlags run;
  LedgerPlace place;
  std::vector<std::string> ledgers;
  std::string dataset;
  MethodFlags method;
  std::string events, hole;
  bool compare = false;
  Grid grid;

  void Check() const;
  // What is not given is sought.
  v1::Unknown Sought() const {
    const bool is_told = solve != v1::UNKNOWN_UNSPECIFIED || !events.empty() || !hole.empty();
    return is_told || run.noise_multiplier > 0 ? solve : v1::NOISE_MULTIPLIER;
  }
  bool OfRest() const { return place.IsGiven() || !ledgers.empty() || !dataset.empty(); }
};

// Exactly the parameters that are not solved for must be given; no sampling probability means the
// full batch.
void CheckGiven(const char* flag, bool given, bool solved_for) {
  RefuseIf(given && solved_for, flag, "is what is sought, and must not be given");
  RefuseIf(!given && !solved_for, flag, "must be given: all but the one solved for are");
}

void CheckParameters(const CalibrateFlags& flags) {
  const RunFlags& run = flags.run;
  const std::string varied = flags.grid.Varied();
  flags.grid.Check(flags.Sought(), run.population);
  if (flags.grid.values.empty() || flags.grid.parameter != "batch-size") run.CheckWords();
  const bool rate = run.sampling_probability > 0 || run.batch_size > 0;
  CheckGiven("--noise-multiplier", run.noise_multiplier > 0,
             flags.Sought() == v1::NOISE_MULTIPLIER);
  CheckGiven("--steps", run.steps > 0 || run.epochs > 0,
             flags.Sought() == v1::STEPS || varied == "--steps");
  RefuseIf(
      rate && (flags.Sought() == v1::SAMPLING_PROBABILITY || varied == "--sampling-probability"),
      "--sampling-probability", "is what is sought, and must not be given");
  if (run.SchemeOf() == RunFlags::Kind::kPoisson || run.SchemeOf() == RunFlags::Kind::kFullBatch) {
    return;
  }
  RefuseIf(flags.Sought() == v1::SAMPLING_PROBABILITY || !flags.grid.values.empty(), "--scheme",
           "must be poisson where the sampling probability is sought or --grid given");
}

void CalibrateFlags::Check() const {
  if (OfRest()) {
    place.Check();
    RefuseIf(!grid.values.empty(), "--grid", "must not be given beside ledgers");
    RefuseIf(!place.AtRest() && ledgers.empty() && dataset.empty(), "--ledger",
             "must be given with --server: what is left beside which ledger");
  }
  if (!events.empty() || !hole.empty()) {
    RefuseIf(events.empty() || hole.empty(), "--hole",
             "goes with --events FILE, and --events with --hole PATH");
    RefuseIf(solve != v1::UNKNOWN_UNSPECIFIED, "--solve",
             "is what is sought, and must not be given");
    RefuseIf(!run.GivenFlag().empty(), run.GivenFlag(), "is what is sought, and must not be given");
    RefuseIf(!grid.values.empty(), "--grid", "is for --solve, not for --hole");
  } else {
    if (Sought() == v1::UNKNOWN_UNSPECIFIED) throw flags::RequiredError("--solve");
    CheckParameters(*this);
  }
}

// The request of a run that flags describe: by its parameters, or, where its scheme has none, with
// a hole in its event.
v1::CalibrateRequest RequestOf(const CalibrateFlags& flags) {
  const RunFlags& run = flags.run;
  v1::CalibrateRequest request;
  request.set_epsilon(flags.epsilon);
  request.set_delta(flags.delta);
  request.set_compare_methods(flags.compare);
  *request.mutable_options() = flags.method.Options();
  const bool by_parameters =
      run.SchemeOf() == RunFlags::Kind::kPoisson || run.SchemeOf() == RunFlags::Kind::kFullBatch;
  if (by_parameters) {
    request.set_solve(flags.Sought());
    request.set_noise_multiplier(run.noise_multiplier);
    if (flags.Sought() != v1::SAMPLING_PROBABILITY)
      request.set_sampling_probability(run.ProbabilityOf());
    request.set_steps(run.StepsOf());
    return request;
  }
  RunFlags begun = run;  // where the search begins
  begun.steps =
      flags.Sought() == v1::STEPS ? std::max<uint64_t>(1, run.RoundsPerEpoch()) : run.WholeEpochs();
  begun.epochs = 0;
  if (flags.Sought() == v1::NOISE_MULTIPLIER) begun.noise_multiplier = 1;
  const std::vector<v1::Event> events = begun.Events();
  request.mutable_events()->Assign(events.begin(), events.end());
  request.set_hole(flags.Sought() == v1::STEPS ? "events[0].rounds.count"
                                               : "events[0].rounds.queries[0].noise_stddev");
  return request;
}

// The value of a hole is that of a parameter again.
void NameSolution(v1::Unknown solve, v1::CalibrateResponse& response) {
  if (!response.has_value()) return;
  const double value = response.value();
  if (solve == v1::STEPS) response.set_steps(static_cast<uint64_t>(value));
  if (solve == v1::NOISE_MULTIPLIER) response.set_noise_multiplier(value);
}

// What is left of the target beside ledgers, or all of it.
absl::StatusOr<v1::CalibrateResponse> Solve(const CalibrateFlags& flags,
                                            v1::CalibrateRequest request) {
  if (!flags.OfRest()) {
    return questions::Answer(questions::Subject(), request, accountant::Limits());
  }
  QuestionFlags question;
  question.ledgers = flags.ledgers;
  question.dataset = flags.dataset;
  ServerCalls calls(flags.place);
  ASSIGN_OR_RETURN(*request.mutable_subject(), question.LedgersOf(calls));
  ASSIGN_OR_RETURN(v1::CalibrateResponse response, calls.Ask(request));
  calls.Assume(*response.mutable_details());
  return response;
}

absl::Status Calibrate(const CalibrateFlags& flags, Output& out) {
  v1::CalibrateRequest request;
  if (!flags.events.empty()) {
    ASSIGN_OR_RETURN(const EventFile file, ReadEventFile(flags.events));
    request.mutable_events()->Assign(file.events.begin(), file.events.end());
    request.set_hole(flags.hole);
    request.set_compare_methods(flags.compare);
    request.set_epsilon(flags.epsilon);
    request.set_delta(flags.delta);
    *request.mutable_options() = flags.method.Options();
  } else {
    request = RequestOf(flags);
  }
  if (!flags.grid.values.empty()) {
    return CalibrateGrid(flags.grid, flags.run.population, std::move(request), out);
  }
  ASSIGN_OR_RETURN(v1::CalibrateResponse response, Solve(flags, std::move(request)));
  NameSolution(flags.Sought(), response);
  for (std::string& assumption : flags.run.Assumptions()) {
    if (flags.events.empty() && flags.Sought() != v1::SAMPLING_PROBABILITY)
      response.mutable_details()->add_assumptions(std::move(assumption));
  }
  if (flags.events.empty() && flags.run.StepsOf() < flags.run.WholeEpochs()) {
    response.mutable_details()->add_assumptions(absl::StrCat(
        "the epoch that ", flags.run.StepsOf(),
        " steps leave unfinished counts as whole, which costs no less: ", flags.run.WholeEpochs(),
        " steps"));
  }
  return out.Answer(response);
}

}  // namespace

void AddCalibrateCommand(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "calibrate",
      "The noise, the number of steps or the sampling probability that meets a target (epsilon, "
      "delta).",
      "  dpledger calibrate --epsilon 1 --delta 1e-6 --solve noise-multiplier "
      "--sampling-probability 0.005 --steps 20000\n"
      "  dpledger calibrate --epsilon 2 --delta 1e-5 --solve steps --noise-multiplier 1 "
      "--sampling-probability 0.01\n"
      "  dpledger calibrate --epsilon 1 --delta 1e-6 --solve noise-multiplier --steps 1000 "
      "--grid batch-size=100,1000,10000 --population 60000\n"
      "  dpledger calibrate --epsilon 3 --delta 1e-5 --solve noise-multiplier --batch-size 256 "
      "--population 60000 --epochs 15\n"
      "  dpledger calibrate --epsilon 3 --delta 1e-5 --solve noise-multiplier --store run.ledger "
      "--sampling-probability 0.01 --steps 1000\n"
      "  dpledger calibrate --epsilon 1 --delta 1e-6 --events run.jsonl "
      "--hole 'events[0].rounds.queries[0].noise_stddev'",
      Calibrate, chosen);
  AddReal(command, "--epsilon", flags.epsilon, kFinitePositive, "the target, > 0")->required();
  AddReal(command, "--delta", flags.delta, kOpenUnitInterval, "the target, in (0, 1)")->required();
  AddChoice<v1::Unknown>(command, "--solve", flags.solve,
                         {{"noise-multiplier", v1::NOISE_MULTIPLIER},
                          {"steps", v1::STEPS},
                          {"sampling-probability", v1::SAMPLING_PROBABILITY}},
                         "what is to be found; without --noise-multiplier that is it");
  flags.run.AddTo(command);
  flags.place.AddTo(command);
  AddLedgerNames(
      command, "--ledger", flags.ledgers,
      "what is left of the target beside this ledger of the server or store; may repeat");
  AddText(command, "--dataset", flags.dataset, 256,
          "the same beside all ledgers over this data set; of a --store with neither, all of them");
  AddPlain(command, "--events", flags.events, "FILE",
           "an event file; --hole says which number in it is sought");
  AddPlain(command, "--hole", flags.hole, "PATH",
           "the path of the number sought: events[LINE].FIELD..., lines from 0");
  command.add_flag("--compare", flags.compare, "also solve by each method alone");
  AddGrid(command, flags.grid);
  flags.method.AddTo(command);
}

}  // namespace dpledger::cli
