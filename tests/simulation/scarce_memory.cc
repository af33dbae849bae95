#include "tests/simulation/scarce_memory.h"

#include <cstdlib>
#include <utility>

namespace {

bool counts = false;
uint64_t left = 0;  // 0: not armed
uint64_t ran_out = 0;

void* Allocate(size_t size) {
  if (counts && left > 0 && --left == 0) {
    ++ran_out;
    throw std::bad_alloc();
  }
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace dpledger::simulation {

void ArmMemory(uint64_t allocations) { left = allocations; }
void DisarmMemory() { left = 0; }
uint64_t TimesMemoryRanOut() { return ran_out; }

ScarceMemory::ScarceMemory() : before_(std::exchange(counts, true)) {}
ScarceMemory::~ScarceMemory() { counts = before_; }
PlentyOfMemory::PlentyOfMemory() : before_(std::exchange(counts, false)) {}
PlentyOfMemory::~PlentyOfMemory() { counts = before_; }

}  // namespace dpledger::simulation
