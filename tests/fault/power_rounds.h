// How long and with which random choices a power-cut test runs: DPLEDGER_FAULT_ROUNDS and
// DPLEDGER_FAULT_SEED, which the long form and the repetition of a failure set.
#pragma once

#include <cstdint>

namespace dpledger::testing {

// The number of rounds asked for, or `usual`.
int FaultRounds(int usual);

// The seed asked for, or a random one; printed.
uint64_t FaultSeed();

}  // namespace dpledger::testing
