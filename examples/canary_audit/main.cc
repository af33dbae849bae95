// Audits the example trainer with canaries, in one run against a server: a lower bound on ε from
// what an attacker could do, beside the ε of the run's own ledger.
#include <grpcpp/client_context.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "client/questions.h"
#include "client/recorder.h"
#include "connection/connection.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "examples/canary_audit/audited_run.h"
#include "examples/canary_audit/canaries.h"
#include "examples/common/program.h"
#include "flags/app.h"

namespace dpledger::canary_audit {
namespace {

constexpr char kAbout[] =
    R"(Audits the example trainer: trains once on canaries, each put in or left out by a coin, guesses the coins
from the model, and holds the lower bounds on epsilon that follow (Steinke, Nasr, Jagielski 2023; Mahloujifar, Melis,
Chaudhuri 2024; each at 95 % confidence) against the epsilon of the run's ledger. Exit code 3 if the ledger's claim is refuted.

Examples:
  canary_audit --server 127.0.0.1:7070 --ledger audit
  canary_audit --server 127.0.0.1:7070 --ledger audit-noise --sabotage noise
      the control: a quarter of the noise that the ledger is told of
  canary_audit --server 127.0.0.1:7070 --ledger audit-clip --sabotage clip
      the control: no gradient is clipped
)";

constexpr int kExitRefuted = 3;

struct Flags {
  std::string server, ledger, spool;
  uint64_t canaries = 10000, guesses = 1000, steps = 4;
  double target_epsilon = 4;
  double delta = 0;  // 0: 1/canaries^2
  Sabotage sabotage = Sabotage::kNone;

  void AddTo(flags::App& app);
};

void Flags::AddTo(flags::App& app) {
  using examples::AddNumber;
  app.add_option("--server", server, "host:port of dpledger-server")->required();
  app.add_option("--ledger", ledger, "its ledger, made for this run")->required();
  app.add_option("--spool", spool,
                 "folder that keeps what the server has not acknowledged [./spool-LEDGER]");
  AddNumber(app, "--canaries", canaries, 100, 30000,
            "memory grows as their square: 200 MB for 10000");
  AddNumber(app, "--guesses", guesses, 2, 30000, "an even number; the others are abstained from");
  AddNumber(app, "--steps", steps, 1, 1000, "full batches");
  AddNumber(app, "--target-epsilon", target_epsilon, 0.01, 100, "the noise is calibrated for it");
  app.add_option("--delta", delta, "of both epsilons [1/canaries^2]")
      ->check(examples::Between(1e-300, 0.1));
  app.add_option(
         "--sabotage",
         [this](const std::string& word) {
           sabotage = word == "noise"  ? Sabotage::kQuarterNoise
                      : word == "clip" ? Sabotage::kNoClipping
                                       : Sabotage::kNone;
         },
         "none; noise: a quarter of it; clip: none. To see that the audit would notice")
      ->check(flags::IsMember({"none", "noise", "clip"}));
}

absl::StatusOr<std::unique_ptr<client::PrivacyRecorder>> OpenRecorder(const Flags& flags) {
  client::RecorderOptions options;
  options.server = flags.server;
  options.ledger = flags.ledger;
  options.writer = "canary-audit";
  options.spool_folder = flags.spool.empty() ? "spool-" + flags.ledger : flags.spool;
  v1::Declaration& declaration = options.declaration;
  declaration.set_dataset("canaries");
  declaration.set_unit_of_privacy("canary");
  declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
  declaration.set_parameters(v1::FIXED);
  declaration.set_planned_rounds(flags.steps);
  declaration.set_released("all iterates");
  declaration.set_description(flags.sabotage == Sabotage::kNone
                                  ? "audit of a trainer by canaries"
                                  : "CONTROL of an audit: this ledger's claim is false");
  return client::PrivacyRecorder::Open(std::move(options));
}

// What these guesses say at that δ and 95 % confidence; of the claim of `ledger`, unless that is
// empty.
absl::StatusOr<v1::AuditClaimResponse> Audit(const Flags& flags, const std::string& ledger,
                                             double delta, const Guesses& guesses) {
  v1::AuditClaimRequest request;
  if (!ledger.empty()) request.mutable_subject()->add_ledgers(ledger);
  request.set_delta(delta);
  request.mutable_one_run()->set_canaries(flags.canaries);
  request.mutable_one_run()->set_guesses(guesses.made);
  request.mutable_one_run()->set_correct(guesses.correct);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  v1::AuditClaimResponse response;
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, connection::Connect(flags.server));
  const auto service = v1::AccountingService::NewStub(channel);
  const grpc::Status status = service->AuditClaim(&context, request, &response);
  if (!status.ok()) return connection::FromGrpc(status);
  return response;
}

// What this configuration can find: the bound that follows from as many right guesses as are to be
// expected.
absl::Status PrintPower(const Flags& flags, double delta, double noise_multiplier) {
  for (const auto& [name, sabotage] : {std::pair("as it should be", Sabotage::kNone),
                                       std::pair("a quarter of the noise", Sabotage::kQuarterNoise),
                                       std::pair("no clipping", Sabotage::kNoClipping)}) {
    const double norm = NormAfterClipping(sabotage);
    const double noise =
        sabotage == Sabotage::kQuarterNoise ? noise_multiplier / 4 : noise_multiplier;
    const double share =
        ExpectedCorrectShare(flags.canaries, flags.guesses, flags.steps, noise, norm);
    const auto made = flags.guesses / 2 * 2;
    const auto correct = static_cast<uint64_t>(std::llround(share * static_cast<double>(made)));
    ASSIGN_OR_RETURN(const v1::AuditClaimResponse answer, Audit(flags, "", delta, {made, correct}));
    absl::PrintF("to be expected     epsilon at least %.2f, by the curve %.2f, %s\n",
                 answer.epsilon_lower_bound(), answer.curve().gaussian_epsilon(), name);
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Run(const Flags& flags) {
  if (flags.guesses > flags.canaries) {
    return FieldError("--guesses", absl::StrCat("must be at most --canaries, ", flags.canaries,
                                                ", got ", flags.guesses));
  }
  const auto canary_count = static_cast<double>(flags.canaries);
  const double delta = flags.delta > 0 ? flags.delta : 1 / (canary_count * canary_count);
  ASSIGN_OR_RETURN(
      const double noise_multiplier,
      client::CalibrateNoise(flags.server, {flags.target_epsilon, delta}, 1, flags.steps));
  absl::PrintF("canaries           %d, %d guesses, %d full batches\n", flags.canaries,
               flags.guesses / 2 * 2, flags.steps);
  absl::PrintF("noise multiplier   %.6f (calibrated by the server)\n", noise_multiplier);
  RETURN_IF_ERROR(PrintPower(flags, delta, noise_multiplier));
  std::fflush(stdout);

  std::random_device random;
  const Canaries canaries(flags.canaries, uint64_t{random()} << 32 | random());
  ASSIGN_OR_RETURN(const auto recorder, OpenRecorder(flags));
  ASSIGN_OR_RETURN(const Guesses guesses, TrainAndGuess(canaries, flags.steps, noise_multiplier,
                                                        flags.guesses, flags.sabotage, *recorder));
  RETURN_IF_ERROR(recorder->Close());
  ASSIGN_OR_RETURN(const v1::AuditClaimResponse answer,
                   Audit(flags, recorder->ledger(), delta, guesses));
  absl::PrintF("guessed            %d of %d rightly\n", guesses.correct, guesses.made);
  absl::PrintF("audit              epsilon at least %.4f at delta %g, confidence %g\n",
               answer.epsilon_lower_bound(), answer.delta(), answer.confidence());
  absl::PrintF("by the curve       epsilon at least %.4f, as a Gaussian mechanism's\n",
               answer.curve().gaussian_epsilon());
  absl::PrintF("ledger             epsilon [%.6f, %.6f]\n", answer.claimed_epsilon().lower(),
               answer.claimed_epsilon().upper());
  absl::PrintF("the claim          %s\n", answer.refuted() ? "is refuted" : "stands");
  return answer.refuted() ? kExitRefuted : 0;
}

}  // namespace
}  // namespace dpledger::canary_audit

int main(int argc, char** argv) {
  using namespace dpledger::canary_audit;
  return dpledger::examples::Main<Flags>(argc, argv, "canary_audit", kAbout, Run);
}
