#include "tests/fault/power_rounds.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "absl/strings/numbers.h"

namespace dpledger::testing {

int FaultRounds(int usual) {
  const char* given = std::getenv("DPLEDGER_FAULT_ROUNDS");
  int rounds = usual;
  if (given != nullptr) {
    EXPECT_TRUE(absl::SimpleAtoi(given, &rounds) && rounds > 0) << given;
  }
  return rounds;
}

uint64_t FaultSeed() {
  uint64_t seed = std::random_device()();
  if (const char* given = std::getenv("DPLEDGER_FAULT_SEED"); given != nullptr) {
    EXPECT_TRUE(absl::SimpleAtoi(given, &seed)) << given;
  }
  std::cout << "DPLEDGER_FAULT_SEED=" << seed << std::endl;
  return seed;
}

}  // namespace dpledger::testing
