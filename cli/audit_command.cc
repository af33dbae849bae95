#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/help.h"
#include "cli/number_text.h"
#include "cli/profile_output.h"
#include "cli/question_flags.h"
#include "questions/answer_profile.h"

namespace dpledger::cli {
namespace {

const RealDomain kHalfOpenUnitInterval = {[](double x) { return x >= 0 && x < 1; },
                                          "must be in [0, 1)"};

struct AuditFlags {
  QuestionFlags question;
  double delta = 0;
  double confidence = 0.95;
  uint64_t canaries = 0, guesses = 0, correct = 0;
  uint64_t runs_with = 0, detected_with = 0, runs_without = 0, detected_without = 0;
  bool one_run = false;
};

void CheckAtMost(const char* flag, uint64_t value, const char* other, uint64_t most) {
  if (value <= most) return;
  throw flags::ValidationError(
      flag, absl::StrCat("must be at most ", other, ", ", most, ", got ", value));
}

// Exactly one kind of evidence, whole and possible.
void CheckEvidence(const std::vector<flags::Option*>& one_run,
                   const std::vector<flags::Option*>& many_runs, AuditFlags& flags) {
  const auto given = [](const std::vector<flags::Option*>& options) {
    return std::count_if(options.begin(), options.end(),
                         [](const flags::Option* option) { return option->count() > 0; });
  };
  const auto ones = given(one_run), manys = given(many_runs);
  flags.one_run = ones == 3 && manys == 0;
  if (!flags.one_run && !(ones == 0 && manys == 4)) {
    throw flags::ValidationError(
        "--canaries",
        "give --canaries, --guesses and --correct, or --runs-with, --detected-with, "
        "--runs-without and --detected-without");
  }
  CheckAtMost("--guesses", flags.guesses, "--canaries", flags.canaries);
  CheckAtMost("--correct", flags.correct, "--guesses", flags.guesses);
  CheckAtMost("--detected-with", flags.detected_with, "--runs-with", flags.runs_with);
  CheckAtMost("--detected-without", flags.detected_without, "--runs-without", flags.runs_without);
}

v1::AuditClaimRequest RequestOf(const AuditFlags& flags) {
  v1::AuditClaimRequest request;
  request.set_delta(flags.delta);
  request.set_confidence(flags.confidence);
  if (flags.one_run) {
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
      flags.question.HasSubject() ? AnswerTo<v1::AuditClaimRequest, v1::AuditClaimResponse>(
                                        flags.question, RequestOf(flags), &questions::AnswerAudit)
                                  : questions::AnswerAudit(RequestOf(flags));
  RETURN_IF_ERROR(answer.status());
  out.Answer(ToText(*answer), *answer);
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
  flags::App* command = AddCommand(
      app, "audit",
      "What an attack that was really made says of a claim: a lower bound on epsilon. Exit code 3 "
      "if the claim cannot be.",
      "  dpledger audit --canaries 1000 --guesses 100 --correct 71 --delta 1e-5\n"
      "  dpledger audit --canaries 1000 --guesses 100 --correct 71 --delta 1e-5 --events "
      "run.jsonl\n"
      "  dpledger audit --runs-with 500 --detected-with 180 --runs-without 500 "
      "--detected-without 9 --delta 1e-5 --server 127.0.0.1:7070 --ledger mnist");
  auto flags = std::make_shared<AuditFlags>();
  AddReal(*command, "--delta", flags->delta, kHalfOpenUnitInterval, "in [0, 1)")->required();
  AddReal(*command, "--confidence", flags->confidence, kOpenUnitInterval, "default 0.95");
  const std::vector<flags::Option*> one_run = {
      AddCount(*command, "--canaries", flags->canaries, 1,
               "one run: canaries, each in or out by a fair coin"),
      AddCount(*command, "--guesses", flags->guesses, 1,
               "one run: for how many of them the auditor guessed which"),
      AddCount(*command, "--correct", flags->correct, 0, "one run: how many guesses were right")};
  const std::vector<flags::Option*> many_runs = {
      AddCount(*command, "--runs-with", flags->runs_with, 1, "many runs: those with the record"),
      AddCount(*command, "--detected-with", flags->detected_with, 0,
               "many runs: of these, those that the test said had it"),
      AddCount(*command, "--runs-without", flags->runs_without, 1,
               "many runs: those without the record"),
      AddCount(*command, "--detected-without", flags->detected_without, 0,
               "many runs: of these, those that the test said had it")};
  flags->question.AddTo(*command);
  command->callback([flags, one_run, many_runs, &chosen] {
    CheckEvidence(one_run, many_runs, *flags);
    if (flags->question.HasSubject()) flags->question.CheckSubject();
    chosen = [flags](Output& out) { return Audit(*flags, out); };
  });
}

}  // namespace dpledger::cli
