// Memory that runs out: std::bad_alloc from operator new, in the calls of a server alone. The
// program that links scarce_memory.cc has its operator new.
//
//  1. It runs out where it was armed to: at the n-th allocation within a ScarceMemory, once.
//  2. The simulation's own parts (PlentyOfMemory), the database under the store among them, always
//     have memory.
// Not thread safe: a simulation has one thread.
#pragma once

#include <cstdint>
#include <new>

#include "absl/status/status.h"
#include "base/out_of_memory.h"

namespace dpledger::simulation {

// The n-th allocation from now on fails.
void ArmMemory(uint64_t allocations);
void DisarmMemory();
// How often memory has run out, of all simulations.
uint64_t TimesMemoryRanOut();

// In its scope allocations count, unless it is within a PlentyOfMemory.
class ScarceMemory {
 public:
  ScarceMemory();
  ~ScarceMemory();
  ScarceMemory(const ScarceMemory&) = delete;
  ScarceMemory& operator=(const ScarceMemory&) = delete;

 private:
  const bool before_;
};

class PlentyOfMemory {
 public:
  PlentyOfMemory();
  ~PlentyOfMemory();
  PlentyOfMemory(const PlentyOfMemory&) = delete;
  PlentyOfMemory& operator=(const PlentyOfMemory&) = delete;

 private:
  const bool before_;
};

// A unary call, as a server's door runs it: without memory, it is refused.
template <typename Call>
absl::Status CallAndRunShort(const Call& call) {
  try {
    const ScarceMemory scarce;
    return call();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

}  // namespace dpledger::simulation
