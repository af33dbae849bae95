// The trainer's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "examples/common/run_flags.h"

namespace dpledger::dp_sgd {

struct Flags : examples::RunFlags {
  std::string data, schema, idx_images, idx_labels;  // none: made-up data
  std::string dataset;                               // its name in the ledger
  uint64_t population = 0;                           // 0: the schema's, or the file's
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
