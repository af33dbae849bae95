// Runs a check on each instruction set that Highway knows of this machine.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "hwy/targets.h"

namespace dpledger::testing {

// While it lives, Highway's dispatch sees a machine with these targets only.
class OnlyTargets {
 public:
  explicit OnlyTargets(int64_t targets) { hwy::SetSupportedTargetsForTest(targets); }
  ~OnlyTargets() { hwy::SetSupportedTargetsForTest(0); }
  OnlyTargets(const OnlyTargets&) = delete;
  OnlyTargets& operator=(const OnlyTargets&) = delete;
};

inline void OnEveryTarget(const std::function<void(const std::string&)>& check) {
  int targets = 0;
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    const OnlyTargets only(target);
    check(hwy::TargetName(target));
    ++targets;
  }
  EXPECT_GE(targets, 1);
}

// A machine without AES instructions.
inline constexpr int64_t kWithoutAes = HWY_SSSE3 | HWY_SCALAR | HWY_EMU128;

}  // namespace dpledger::testing
