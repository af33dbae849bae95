// Long tables of cases: a test asks some of them, other ones in each run, and tests/accountant/long
// asks all. Not thread safe.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace dpledger::testing {

class SampledCases {
 public:
  // Of each `one_in` cases in a row one is taken, at random. DPLEDGER_CASE_SEED, which is printed,
  // repeats the choice; DPLEDGER_ALL_CASES takes all.
  explicit SampledCases(uint64_t one_in)
      : one_in_(std::getenv("DPLEDGER_ALL_CASES") == nullptr ? one_in : 1) {
    const char* const given = std::getenv("DPLEDGER_CASE_SEED");
    const uint64_t seed = given == nullptr ? std::random_device()() : std::stoull(given);
    std::cout << "DPLEDGER_CASE_SEED=" << seed << std::endl;
    random_.seed(seed);
  }

  // Whether the next case is taken.
  bool Next() {
    const uint64_t place = next_++ % one_in_;
    if (place == 0) taken_ = random_() % one_in_;
    return place == taken_;
  }
  uint64_t one_in() const { return one_in_; }

 private:
  const uint64_t one_in_;
  std::mt19937_64 random_;
  uint64_t next_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace dpledger::testing
