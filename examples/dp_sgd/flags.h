// The trainer's command line.
#pragma once

#include <cstdint>
#include <optional>

#include "examples/common/input.h"
#include "examples/common/run_flags.h"

namespace dpledger::dp_sgd {

struct Flags : examples::RunFlags {
  examples::DataFlags input;
  double test_fraction = 0.2;

  uint64_t hidden = 0;  // 0: the linear model
  uint64_t steps = 0;   // 0: epochs
  double epochs = 10;
  double batch_size = 256;
  double clip_norm = 1;
  double learning_rate = 0.5;
  uint64_t seed = 1;
};

// The flags, or the exit code of a program that has said what is wrong, or has helped.
struct ParsedFlags {
  Flags flags;
  std::optional<int> exit_code;
};
ParsedFlags ParseFlags(int argc, char** argv);

}  // namespace dpledger::dp_sgd
