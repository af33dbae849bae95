#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/number_text.h"
#include "cli/question_flags.h"
#include "questions/answers.h"

namespace dpledger::cli {
namespace {

struct AuditFlags {
  QuestionFlags question;
  double delta = 0;
  double confidence = 0.95;
  uint64_t canaries = 0, guesses = 0, correct = 0;
  uint64_t runs_with = 0, detected_with = 0, runs_without = 0, detected_without = 0;
  std::vector<flags::Option*> of_one_run, of_many_runs;

  bool OneRun() const { return of_one_run.front()->count() > 0; }
  void Check() const;
};

void CheckAtMost(const char* flag, uint64_t value, const char* other, uint64_t most) {
  RefuseIf(value > most, flag,
           absl::StrCat("must be at most ", other, ", ", most, ", got ", value));
}

// Exactly one kind of evidence, whole and possible.
void AuditFlags::Check() const {
  const auto given = [](const std::vector<flags::Option*>& options) {
    return std::count_if(options.begin(), options.end(),
                         [](const flags::Option* option) { return option->count() > 0; });
  };
  const auto ones = given(of_one_run), manys = given(of_many_runs);
  RefuseIf(!(ones == 3 && manys == 0) && !(ones == 0 && manys == 4), "--canaries",
           "give --canaries, --guesses and --correct, or --runs-with, --detected-with, "
           "--runs-without and --detected-without");
  CheckAtMost("--guesses", guesses, "--canaries", canaries);
  CheckAtMost("--correct", correct, "--guesses", guesses);
  CheckAtMost("--detected-with", detected_with, "--runs-with", runs_with);
  CheckAtMost("--detected-without", detected_without, "--runs-without", runs_without);
  if (question.HasSubject()) question.CheckSubject();
}

v1::AuditClaimRequest RequestOf(const AuditFlags& flags) {
  v1::AuditClaimRequest request;
  request.set_delta(flags.delta);
  request.set_confidence(flags.confidence);
  if (flags.OneRun()) {
    v1::OneRunAudit& run = *request.mutable_one_run();
    run.set_canaries(flags.canaries);
    run.set_guesses(flags.guesses);
    run.set_correct(flags.correct);
  } else {
    v1::ManyRunsAudit& runs = *request.mutable_many_runs();
    runs.set_with_record(flags.runs_with);
    runs.set_detected_with(flags.detected_with);
    runs.set_without_record(flags.runs_without);
    runs.set_detected_without(flags.detected_without);
  }
  return request;
}

absl::Status Audit(const AuditFlags& flags, Output& out) {
  const absl::StatusOr<v1::AuditClaimResponse> answer =
      flags.question.HasSubject() ? AnswerTo(flags.question, RequestOf(flags))
                                  : questions::AnswerAlone(RequestOf(flags), accountant::Limits());
  RETURN_IF_ERROR(answer.status());
  RETURN_IF_ERROR(out.Answer(*answer));
  if (!answer->refuted()) return absl::OkStatus();
  const double bound = answer->epsilon_lower_bound(), claimed = answer->claimed_epsilon().upper();
  const std::string why = claimed < bound ? absl::StrCat("epsilon is at least ", TextDown(bound),
                                                         ", the claim is ", TextUp(claimed))
                                          : "its trade-off curve cannot be";
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("the claim is refuted: at confidence ",
                                                 TextNear(answer->confidence()), " ", why)),
      {kClaimRefuted, {}});
}

}  // namespace

void AddAuditCommand(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "audit",
      "What an attack that was really made says of a claim: a lower bound on epsilon. Exit code 3 "
      "if the claim cannot be.",
      "  dpledger audit --canaries 1000 --guesses 100 --correct 71 --delta 1e-5\n"
      "  dpledger audit --canaries 1000 --guesses 100 --correct 71 --delta 1e-5 --events "
      "run.jsonl\n"
      "  dpledger audit --runs-with 500 --detected-with 180 --runs-without 500 "
      "--detected-without 9 --delta 1e-5 --server 127.0.0.1:7070 --ledger mnist",
      Audit, chosen);
  AddReal(command, "--delta", flags.delta, kBelowOne, "in [0, 1)")->required();
  AddReal(command, "--confidence", flags.confidence, kOpenUnitInterval, "default 0.95");
  flags.of_one_run = {
      AddCount(command, "--canaries", flags.canaries, 1,
               "one run: canaries, each in or out by a fair coin"),
      AddCount(command, "--guesses", flags.guesses, 1,
               "one run: for how many of them the auditor guessed which"),
      AddCount(command, "--correct", flags.correct, 0, "one run: how many guesses were right")};
  flags.of_many_runs = {
      AddCount(command, "--runs-with", flags.runs_with, 1, "many runs: those with the record"),
      AddCount(command, "--detected-with", flags.detected_with, 0,
               "many runs: of these, those that the test said had it"),
      AddCount(command, "--runs-without", flags.runs_without, 1,
               "many runs: those without the record"),
      AddCount(command, "--detected-without", flags.detected_without, 0,
               "many runs: of these, those that the test said had it")};
  flags.question.AddTo(command);
}

}  // namespace dpledger::cli
