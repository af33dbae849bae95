#include "examples/common/run_flags.h"

#include <map>

#include "examples/common/program.h"

namespace dpledger::examples {

void AddRunFlags(flags::App& app, RunFlags& flags) {
  auto* noise = app.add_option_group("noise", "how much noise: one of the two");
  noise->add_option("--noise-multiplier", flags.noise_multiplier, "noise over clip norm")
      ->check(Between(1e-3, 1e6));
  noise
      ->add_option("--target-epsilon", flags.target_epsilon,
                   "the noise that the server calibrates for it")
      ->check(Between(1e-9, 1e9));
  noise->require_option(1);
  app.add_option("--delta", flags.delta, "of the target and of the final answer")
      ->check(InOpenUnitInterval())
      ->capture_default_str();
  app.add_option("--server", flags.server, "host:port of dpledger-server")->required();
  app.add_option("--ledger", flags.ledger, "its ledger, made if it does not exist")->required();
  app.add_flag("--plan-independent", flags.plan_independent,
               "declare that this run was planned without looking at outputs of other ledgers: "
               "only such ledgers have a differential privacy together");
  app.add_option("--writer", flags.writer, "name of this trainer in the ledger")
      ->capture_default_str();
  app.add_option("--spool", flags.spool,
                 "folder that keeps what the server has not acknowledged [./spool-LEDGER]");
  static const std::map<std::string, Policy> kPolicies = {{"fail-closed", Policy::kFailClosed},
                                                          {"spool", Policy::kSpool}};
  app.add_option(
         "--policy", [&flags](const std::string& name) { flags.policy = kPolicies.at(name); },
         "release noise after the server's acknowledgement (fail-closed), or once the event "
         "is durable in the spool (spool) [fail-closed]")
      ->check(flags::IsMember(kPolicies));
}

std::optional<int> Parse(flags::App& app, int argc, char** argv, RunFlags& flags,
                         const std::function<void()>& check) {
  try {
    app.parse(argc, argv);
    check();
  } catch (const flags::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (flags.spool.empty()) {
    flags.spool = "spool-" + flags.ledger;
    for (char& c : flags.spool) c = c == '/' ? '-' : c;
  }
  return std::nullopt;
}

}  // namespace dpledger::examples
