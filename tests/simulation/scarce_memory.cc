#include "tests/simulation/scarce_memory.h"

#include <cstdlib>
#include <utility>

#include "tests/support/refusing_new.h"

namespace {

thread_local bool counts = false;  // a gate's thread always has memory
uint64_t left = 0;                 // 0: not armed
uint64_t ran_out = 0;

}  // namespace

bool RefusesAllocation(size_t) {
  if (!counts || left == 0 || --left > 0) return false;
  ++ran_out;
  return true;
}

namespace dpledger::simulation {

void ArmMemory(uint64_t allocations) { left = allocations; }
void DisarmMemory() { left = 0; }
uint64_t TimesMemoryRanOut() { return ran_out; }

ScarceMemory::ScarceMemory() : before_(std::exchange(counts, true)) {}
ScarceMemory::~ScarceMemory() { counts = before_; }
PlentyOfMemory::PlentyOfMemory() : before_(std::exchange(counts, false)) {}
PlentyOfMemory::~PlentyOfMemory() { counts = before_; }

}  // namespace dpledger::simulation
