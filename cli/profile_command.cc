#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/status.h"
#include "cli/answer_parts.h"
#include "cli/commands.h"
#include "cli/list_flag.h"
#include "cli/question_flags.h"
#include "questions/answers.h"

namespace dpledger::cli {
namespace {

const RealDomain kUnitInterval = {[](double x) { return x >= 0 && x <= 1; }, "must be in [0, 1]"};
const RealDomain kFitDelta = {[](double x) { return x > 0 && x < 0.99; }, "must be in (0, 0.99)"};

struct ProfileFlags {
  QuestionFlags question;
  std::vector<double> epsilons, deltas, alphas, priors;
  double gaussian_fit = 0;
  bool trade_off = false;
  bool csv = false;
  const flags::Option* json = nullptr;

  void Check() const;
};

// Error rates that show a curve: even steps, closer together at both ends.
std::vector<double> UsualAlphas() {
  std::vector<double> alphas = {0, 1e-4, 1e-3, 0.003, 0.01};
  for (int i = 1; i < 50; ++i) alphas.push_back(i / 50.0);
  for (const double alpha : {0.99, 0.997, 0.999, 1.0}) alphas.push_back(alpha);
  return alphas;
}

void ProfileFlags::Check() const {
  question.CheckSubject();
  RefuseIf(!epsilons.empty() && !deltas.empty(), "--deltas", "must not be given with --epsilons");
  RefuseIf(epsilons.empty() && deltas.empty() && !trade_off, "--epsilons",
           "give --epsilons LIST, --deltas LIST or --trade-off");
  RefuseIf(!alphas.empty() && !trade_off, "--alphas", "is for --trade-off only");
  RefuseIf(csv && json->count() > 0, "--csv", "must not be given with --json");
}

v1::ComputeProfileRequest RequestOf(const ProfileFlags& flags) {
  v1::ComputeProfileRequest request;
  request.mutable_epsilons()->Add(flags.epsilons.begin(), flags.epsilons.end());
  request.mutable_deltas()->Add(flags.deltas.begin(), flags.deltas.end());
  request.mutable_priors()->Add(flags.priors.begin(), flags.priors.end());
  request.set_gaussian_least_delta(flags.gaussian_fit);
  if (flags.trade_off) {
    const std::vector<double> alphas = flags.alphas.empty() ? UsualAlphas() : flags.alphas;
    request.mutable_type_one_errors()->Add(alphas.begin(), alphas.end());
  }
  return request;
}

absl::Status Print(const ProfileFlags& flags, Output& out) {
  ASSIGN_OR_RETURN(const v1::ComputeProfileResponse answer,
                   AnswerTo(flags.question, RequestOf(flags)));
  const Asked asked = flags.deltas.empty() ? Asked::kEpsilons : Asked::kDeltas;
  if (flags.csv) {
    // Points alone would not show it.
    if (MayBeShort(answer.details())) out.Note("warning: " + MissingText(answer.details()));
    const std::string csv = flags.trade_off ? TradeOffCsv(answer) : PointsCsv(answer, asked);
    for (absl::string_view line : absl::StrSplit(csv, '\n', absl::SkipEmpty())) {
      out.Line(std::string(line));
    }
    return absl::OkStatus();
  }
  return out.Answer(ToText(answer, asked), answer);
}

}  // namespace

void AddProfileCommand(flags::App& app, Command& chosen) {
  auto [command, flags] =
      AddCommand(app, "profile",
                 "Delta at many epsilons or epsilon at many deltas, and what an attacker can do.",
                 "  dpledger profile --noise-multiplier 1 --sampling-probability .01 --steps 10000 "
                 "--epsilons 0:8:33\n"
                 "  dpledger profile --deltas 1e-10:1e-2:9 --events run.jsonl --csv\n"
                 "  dpledger profile --trade-off --alphas 0.001,0.01 --events run.jsonl\n"
                 "  dpledger profile --epsilons 1,2,4 --priors 0.5 --gaussian-fit 1e-9 --server "
                 "127.0.0.1:7070 --ledger mnist --json",
                 Print, chosen);
  AddList(command, "--epsilons", flags.epsilons, kFiniteNotNegative, Spacing::kEven,
          "numbers >= 0 between commas; FROM:TO:COUNT stands for COUNT of them");
  AddList(command, "--deltas", flags.deltas, kOpenUnitInterval, Spacing::kLogarithmic,
          "numbers in (0, 1); a range is spaced by equal quotients");
  command.add_flag("--trade-off", flags.trade_off,
                   "the least type II error of an attacker for each type I error; --csv prints "
                   "these then");
  AddList(command, "--alphas", flags.alphas, kUnitInterval, Spacing::kEven,
          "the type I errors (false positive rates) for --trade-off; default 58 from 0 to 1");
  AddList(command, "--priors", flags.priors, kOpenUnitInterval, Spacing::kEven,
          "an attacker's chance to tell rightly which of two inputs it was, at these priors");
  AddReal(command, "--gaussian-fit", flags.gaussian_fit, kFitDelta,
          "the mu of the Gaussian mechanism that stands for the run, for delta from this up");
  command.add_flag("--csv", flags.csv, "print the points as CSV");
  flags.question.AddTo(command);
  flags.json = command.get_option("--json");
}

}  // namespace dpledger::cli
