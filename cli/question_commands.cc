
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/question_flags.h"

namespace dpledger::cli {
namespace {

// Of `epsilon` and of `delta`: the number that is given.
struct PairFlags {
  QuestionFlags question;
  double given = 0;

  void Check() const { question.CheckSubject(); }
};

absl::Status Epsilon(const PairFlags& flags, Output& out) {
  v1::ComputeEpsilonRequest request;
  request.set_delta(flags.given);
  return out.Answer(AnswerTo(flags.question, request));
}

absl::Status Delta(const PairFlags& flags, Output& out) {
  v1::ComputeDeltaRequest request;
  request.set_epsilon(flags.given);
  return out.Answer(AnswerTo(flags.question, request));
}

void AddEpsilon(flags::App& app, Command& chosen) {
  auto [command, flags] =
      AddCommand(app, "epsilon", "The epsilon of a run, for a delta.",
                 "  dpledger epsilon --noise-multiplier 1 --sampling-probability .01 --steps 10000 "
                 "--delta 1e-5\n"
                 "  dpledger epsilon --delta 1e-5 --events run.jsonl\n"
                 "  dpledger epsilon --delta 1e-5 --server 127.0.0.1:7070 --ledger mnist --json\n"
                 "  dpledger epsilon --delta 1e-5 --server 127.0.0.1:7070 --dataset mnist "
                 "--events planned.jsonl",
                 Epsilon, chosen);
  AddReal(command, "--delta", flags.given, kBelowOne, "in [0, 1)")->required();
  flags.question.AddTo(command);
  flags.question.AddAsPlanned(command);
}

void AddDelta(flags::App& app, Command& chosen) {
  auto [command, flags] =
      AddCommand(app, "delta", "The delta of a run, for an epsilon.",
                 "  dpledger delta --noise-multiplier 1 --sampling-probability .01 --steps 10000 "
                 "--epsilon 1\n"
                 "  dpledger delta --epsilon 1 --events run.jsonl\n"
                 "  dpledger delta --epsilon 1 --server 127.0.0.1:7070 --ledger mnist",
                 Delta, chosen);
  AddReal(command, "--epsilon", flags.given, kFiniteNotNegative, "finite and >= 0")->required();
  flags.question.AddTo(command);
  flags.question.AddAsPlanned(command);
}

// ---- tuning ----

enum class TrialsKind { kUnset, kNegativeBinomial, kPoisson, kFixed, kBinomial, kLeastCost };

struct TuningFlags {
  QuestionFlags question;
  double delta = 0;
  TrialsKind trials = TrialsKind::kUnset;
  double eta = 0;
  double mean = 0;
  uint64_t most = 0;
  double at_most_one = 0.5;
  const flags::Option* eta_option = nullptr;
  const flags::Option* most_option = nullptr;
  const flags::Option* at_most_one_option = nullptr;

  void Check() const;
};

// `flag` is given for the distribution that has it, and for no other.
void CheckBelongs(const char* flag, const flags::Option& option, bool belongs, const char* to) {
  RefuseIf(belongs != (option.count() > 0), flag,
           absl::StrCat(belongs ? "must be given for" : "is for", " --trials ", to,
                        belongs ? "" : " only"));
}

void CheckMoreThanOne(double mean) {
  RefuseIf(!(mean > 1), "--mean-trials", absl::StrCat("must be > 1, got ", mean));
}

// Throws flags::ValidationError for a mean or an eta that the chosen distribution does not have.
v1::Trials TrialsOf(const TuningFlags& flags) {
  v1::Trials trials;
  CheckBelongs("--eta", *flags.eta_option, flags.trials == TrialsKind::kNegativeBinomial,
               "negative-binomial");
  CheckBelongs("--most-trials", *flags.most_option, flags.trials == TrialsKind::kBinomial,
               "binomial");
  RefuseIf(flags.at_most_one_option->count() > 0 && flags.trials != TrialsKind::kLeastCost,
           "--at-most-one-probability", "is for --trials least-cost only");
  RefuseIf(flags.trials != TrialsKind::kFixed && flags.mean > 1e15, "--mean-trials",
           absl::StrCat("must be <= 1e15, got ", flags.mean));
  switch (flags.trials) {
    case TrialsKind::kNegativeBinomial:
      CheckMoreThanOne(flags.mean);
      trials.mutable_negative_binomial()->set_eta(flags.eta);
      trials.mutable_negative_binomial()->set_mean(flags.mean);
      break;
    case TrialsKind::kFixed: {
      const auto count = flags.mean <= 0x1p53 ? static_cast<uint64_t>(flags.mean) : 0;
      RefuseIf(
          count < 1 || static_cast<double>(count) != flags.mean, "--mean-trials",
          absl::StrCat("must be a whole number in [1, 2^53] for --trials fixed, got ", flags.mean));
      trials.mutable_fixed()->set_count(count);
      break;
    }
    case TrialsKind::kBinomial:
      RefuseIf(flags.mean > static_cast<double>(flags.most), "--mean-trials",
               absl::StrCat("must be <= --most-trials, got ", flags.mean));
      trials.mutable_binomial()->set_trials(flags.most);
      trials.mutable_binomial()->set_probability(flags.mean / static_cast<double>(flags.most));
      break;
    case TrialsKind::kLeastCost:
      CheckMoreThanOne(flags.mean);
      trials.mutable_least_cost()->set_mean(flags.mean);
      trials.mutable_least_cost()->set_at_most_one_probability(flags.at_most_one);
      break;
    case TrialsKind::kPoisson:
    case TrialsKind::kUnset:  // the flag is required
      trials.mutable_poisson()->set_mean(flags.mean);
      break;
  }
  return trials;
}

void TuningFlags::Check() const {
  question.CheckSubject();
  (void)TrialsOf(*this);
}

absl::Status Tuning(const TuningFlags& flags, Output& out) {
  v1::ComputeTuningCostRequest request;
  *request.mutable_trials() = TrialsOf(flags);
  request.set_delta(flags.delta);
  return out.Answer(AnswerTo(flags.question, request));
}

void AddTuning(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "tuning", "What releasing the best of several runs costs. What is described is one run.",
      "  dpledger tuning --noise-multiplier 1 --sampling-probability .01 --steps 10000 --delta "
      "1e-5 --trials poisson --mean-trials 10\n"
      "  dpledger tuning --delta 1e-5 --trials negative-binomial --eta 1 --mean-trials 10 "
      "--events run.jsonl\n"
      "  dpledger tuning --delta 1e-5 --trials least-cost --mean-trials 20 --events run.jsonl",
      Tuning, chosen);
  AddReal(command, "--delta", flags.delta, kOpenUnitInterval, "in (0, 1)")->required();
  AddChoice<TrialsKind>(
      command, "--trials", flags.trials,
      {{"negative-binomial", TrialsKind::kNegativeBinomial},
       {"poisson", TrialsKind::kPoisson},
       {"fixed", TrialsKind::kFixed},
       {"binomial", TrialsKind::kBinomial},
       {"least-cost", TrialsKind::kLeastCost}},
      "how the number of runs is drawn; least-cost: of these the one that costs least")
      ->required();
  flags.eta_option = AddReal(command, "--eta", flags.eta, kAboveMinusOne,
                             "negative-binomial only, > -1: 0 is logarithmic, 1 is geometric");
  flags.at_most_one_option =
      AddReal(command, "--at-most-one-probability", flags.at_most_one, kProbability,
              "least-cost only: the greatest probability of making at most one run (0.5)");
  flags.most_option = AddCount(command, "--most-trials", flags.most, 1,
                               "binomial only: the greatest number of runs");
  AddReal(command, "--mean-trials", flags.mean, kFinitePositive, "the mean number of runs")
      ->required();
  flags.question.AddTo(command);
}

}  // namespace

void AddQuestionCommands(flags::App& app, Command& chosen) {
  AddEpsilon(app, chosen);
  AddDelta(app, chosen);
  AddTuning(app, chosen);
}

}  // namespace dpledger::cli
