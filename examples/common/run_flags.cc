#include "examples/common/run_flags.h"

#include <map>

#include "examples/common/program.h"

namespace dpledger::examples {

void RunFlags::AddTo(flags::App& app) {
  auto* noise = app.add_option_group("noise", "how much noise: one of the two");
  noise->add_option("--noise-multiplier", noise_multiplier, "noise over clip norm")
      ->check(Between(1e-3, 1e6));
  noise
      ->add_option("--target-epsilon", target_epsilon,
                   "the noise that the server calibrates for it")
      ->check(Between(1e-9, 1e9));
  noise->require_option(1);
  app.add_option("--delta", delta, "of the target and of the final answer")
      ->check(InOpenUnitInterval())
      ->capture_default_str();
  app.add_option("--server", server, "host:port of dpledger-server")->required();
  app.add_option("--ledger", ledger, "its ledger, made if it does not exist")->required();
  app.add_flag("--plan-independent", plan_independent,
               "declare that this run was planned without looking at outputs of other ledgers: "
               "only such ledgers have a differential privacy together");
  app.add_option("--writer", writer, "name of this trainer in the ledger")->capture_default_str();
  app.add_option("--spool", spool,
                 "folder that keeps what the server has not acknowledged [./spool-LEDGER]");
  static const std::map<std::string, Policy> kPolicies = {{"fail-closed", Policy::kFailClosed},
                                                          {"spool", Policy::kSpool}};
  app.add_option(
         "--policy", [this](const std::string& name) { policy = kPolicies.at(name); },
         "release noise after the server's acknowledgement (fail-closed), or once the event "
         "is durable in the spool (spool) [fail-closed]")
      ->check(flags::IsMember(kPolicies));
}

void RunFlags::Check() {
  if (!spool.empty()) return;
  spool = "spool-" + ledger;
  for (char& c : spool) c = c == '/' ? '-' : c;
}

void TrainingFlags::AddTrainingTo(flags::App& app) {
  AddDataFlags(app, input);
  AddNumber(app, "--test-fraction", test_fraction, 0, 0.9,
            "share of the records held out, by a hash of their index");
  AddNumber(app, "--clip-norm", clip_norm, 1e-30, 1e30,
            "largest L2 norm of one example's gradient");
  AddNumber(app, "--learning-rate", learning_rate, 1e-9, 1e9, "of plain SGD");
}

}  // namespace dpledger::examples
