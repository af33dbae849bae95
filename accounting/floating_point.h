// The floating-point state that the accountant's error bounds count on: rounding to nearest,
// subnormal numbers kept (no FTZ, no DAZ), no traps, and no precision cut.
//
// A host may have set another: torch.set_flush_denormal(True) sets FTZ and DAZ for its thread. The
// state is set, not refused, because the thread's owner has done nothing wrong, cannot know of the
// accountant, and may be unable to change what its framework needs; setting it costs less than
// 0.1 us.
//
// Of one thread: make and end it there.
#pragma once

#include <cfenv>

namespace dpledger::accounting {

class DefaultFloatingPoint {
 public:
  // FE_DFL_ENV is the state at a program's start; on x86-64 it is set in MXCSR and in the x87 unit.
  DefaultFloatingPoint() : set_(std::fegetenv(&before_) == 0 && std::fesetenv(FE_DFL_ENV) == 0) {}
  ~DefaultFloatingPoint() {
    if (set_) std::fesetenv(&before_);
  }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

  // Whether the state is as it has to be.
  bool set() const { return set_; }

 private:
  std::fenv_t before_;
  bool set_;
};

}  // namespace dpledger::accounting
