// The flags that every example trainer has: its server and ledger, and how much noise.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "dpledger/client.h"
#include "flags/app.h"

namespace dpledger::examples {

struct RunFlags {
  std::string server, ledger, spool;
  std::string writer = "trainer";
  Policy policy = Policy::kFailClosed;
  std::optional<double> noise_multiplier, target_epsilon;  // one of the two
  double delta = 1e-5;
  bool plan_independent = false;
};

void AddRunFlags(flags::App& app, RunFlags& flags);

// Parses, then lets `check` throw a flags::ValidationError for what the flags are together. The
// exit code, if the program has said what is wrong, or has helped.
std::optional<int> Parse(flags::App& app, int argc, char** argv, RunFlags& flags,
                         const std::function<void()>& check);

}  // namespace dpledger::examples
