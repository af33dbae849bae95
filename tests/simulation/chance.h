// The one source of chance in a simulation: the same seed makes the same choices on every machine.
// (SplitMix64: Steele, Lea and Flood 2014.)
#pragma once

#include <cstddef>
#include <cstdint>

namespace dpledger::simulation {

class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed) {}

  // Below `bound`, which is at least 1.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  // True once in `times` on average.
  bool OneIn(uint64_t times) { return Below(times) == 0; }

 private:
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace dpledger::simulation
