// DP-FedAvg on dpledger's client: user-level privacy, with every round in the ledger before its
// noise is released.
#include <cstdio>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "examples/common/program.h"
#include "examples/common/run_flags.h"
#include "examples/common/run_recorder.h"
#include "examples/dp_fedavg/federated.h"
#include "flags/app.h"

namespace dpledger::dp_fedavg {
namespace {

using examples::AddNumber;

constexpr char kAbout[] =
    R"(Trains a classifier over many users with user-level differential privacy (DP-FedAvg), on made-up
data, and keeps its privacy ledger.

Examples:
  dp_fedavg --server 127.0.0.1:7070 --ledger users --target-epsilon 2
      clips every user's difference to --clip-norm
  dp_fedavg --server 127.0.0.1:7070 --ledger adaptive --target-epsilon 2 --clip-quantile 0.5
      lets the clip norm follow the median of the differences' norms (Andrew et al. 2021)
)";

constexpr size_t kRowsPerUser = 20;
constexpr size_t kHeldOutRows = 4000;

struct Flags : examples::RunFlags {
  uint64_t users = 1000, rounds = 60, local_passes = 1;
  double users_per_round = 100;
  double clip_norm = 1;
  std::optional<double> clip_quantile;
  double local_learning_rate = 0.1, server_learning_rate = 1;

  void AddTo(flags::App& app);
  void Check() {
    RunFlags::Check();
    if (users_per_round <= static_cast<double>(users)) return;
    throw flags::ValidationError("--users-per-round", "must be at most --users");
  }
};

void Flags::AddTo(flags::App& app) {
  AddNumber(app, "--users", users, 1, 1e6, "who own 20 examples each; a public constant");
  AddNumber(app, "--users-per-round", users_per_round, 1e-6, 1e6,
            "expected; divided by --users it is the sampling probability");
  AddNumber(app, "--rounds", rounds, 1, 1e9, "of training");
  AddNumber(app, "--local-passes", local_passes, 1, 1000, "of a user over its examples in a round");
  AddNumber(app, "--local-learning-rate", local_learning_rate, 1e-9, 1e9,
            "of the users' plain SGD");
  AddNumber(app, "--server-learning-rate", server_learning_rate, 1e-9, 1e9,
            "of the mean difference");
  AddNumber(app, "--clip-norm", clip_norm, 1e-24, 1e24, "largest L2 norm of one user's difference");
  app.add_option("--clip-quantile", clip_quantile,
                 "lets the clip norm follow this quantile of the norms, from --clip-norm on")
      ->check(examples::Between(0, 1));
  RunFlags::AddTo(app);
}

absl::StatusOr<FederatedPlan> MakePlan(const Flags& flags) {
  FederatedPlan plan;
  plan.users = DealOut(flags.users * kRowsPerUser, flags.users);
  plan.expected_users = flags.users_per_round;
  plan.rounds = flags.rounds;
  plan.clip_norm = flags.clip_norm;
  plan.local_passes = flags.local_passes;
  plan.local_learning_rate = flags.local_learning_rate;
  plan.server_learning_rate = flags.server_learning_rate;
  ASSIGN_OR_RETURN(plan.noise_multiplier,
                   examples::NoiseMultiplier(flags, plan.probability(), plan.rounds));
  if (flags.clip_quantile) {
    // The share's noise is a twentieth of the users (Andrew et al. 2021, section 3.1), or little
    // above what the round's multiplier asks for.
    const double multiplier = std::max(plan.expected_users / 10, 2 * plan.noise_multiplier);
    plan.adaptive =
        AdaptiveClipNorm{NormQuantile{*flags.clip_quantile, 0.2}, multiplier, plan.expected_users};
  }
  return plan;
}

Declaration Declare(const Flags& flags, const FederatedPlan& plan) {
  return {.dataset = "synthetic users",
          .unit_of_privacy = "user",
          .adjacency = Adjacency::kAddOrRemoveOne,
          .planned_rounds = plan.rounds,
          .plan_independent = flags.plan_independent,
          .description = absl::StrFormat(
              "DP-FedAvg, multinomial logistic regression, %g of %d users a round, %s clip norm %g",
              plan.expected_users, plan.users.size(), plan.adaptive ? "adaptive" : "fixed",
              plan.clip_norm)};
}

absl::StatusOr<int> Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const FederatedPlan plan, MakePlan(flags));
  const size_t rows = flags.users * kRowsPerUser;
  const examples::Dataset data = examples::MakeSynthetic(rows + kHeldOutRows);
  examples::Network network(data.feature_count, 0, static_cast<size_t>(data.class_count));
  ASSIGN_OR_RETURN(const auto recorder, examples::OpenRecorder(flags, Declare(flags, plan)));
  examples::StopOnInterrupt();
  absl::PrintF("users              %d, %g expected in a round, %d examples each\n",
               plan.users.size(), plan.expected_users, kRowsPerUser);
  absl::PrintF("noise multiplier   %.6f%s, %d rounds\n", plan.noise_multiplier,
               flags.noise_multiplier ? "" : " (calibrated by the server)", plan.rounds);
  std::fflush(stdout);
  FederatedState state{network.InitialParameters(0)};
  RETURN_IF_ERROR(Train(plan, data, network, *recorder, examples::stop, state));
  std::vector<size_t> held_out;
  for (size_t row = rows; row < data.size(); ++row) held_out.push_back(row);
  absl::PrintF("held-out accuracy  %.4f on %d records, NOT covered by epsilon\n",
               network.Accuracy(state.parameters, data, held_out), held_out.size());
  absl::PrintF("clip norm          %g after %d of %d rounds\n", state.clip_norm, state.rounds_done,
               plan.rounds);
  return examples::EndRun(*recorder, flags.delta);
}

}  // namespace
}  // namespace dpledger::dp_fedavg

int main(int argc, char** argv) {
  using namespace dpledger::dp_fedavg;
  return dpledger::examples::Main<Flags>(argc, argv, "dp_fedavg", kAbout, Run);
}
