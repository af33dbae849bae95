// The flags that every example trainer has: its server and ledger, and how much noise.
#pragma once

#include <optional>
#include <string>

#include "dpledger/client.h"
#include "examples/common/input.h"
#include "flags/app.h"

namespace dpledger::examples {

struct RunFlags {
  std::string server, ledger, spool;
  std::string writer = "trainer";
  Policy policy = Policy::kFailClosed;
  std::optional<double> noise_multiplier, target_epsilon;  // one of the two
  double delta = 1e-5;
  bool plan_independent = false;

  void AddTo(flags::App& app);
  // Names the spool, if no flag does.
  void Check();
};

// Those of a trainer by SGD.
struct TrainingFlags : RunFlags {
  DataFlags input;
  double test_fraction = 0.2, clip_norm = 1, learning_rate = 0.5;

  // But for those of RunFlags.
  void AddTrainingTo(flags::App& app);
};

}  // namespace dpledger::examples
