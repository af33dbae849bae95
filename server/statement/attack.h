// What an attacker can gain, in plain words. Functions; thread safe.
#pragma once

#include <string>

#include "server/statement/facts.h"

namespace dpledger::server::statement {

// The most that an attacker reaches who knows all about the data but for one record.
struct Attack {
  double success = 1;    // the chance to tell rightly, of two equally likely inputs
  double detection = 1;  // the true positive rate at a false positive rate of kFalseAlarm
};
inline constexpr double kFalseAlarm = 0.01;

// Upper bounds, from the whole curve.
Attack AttackOf(const v1::ComputeProfileResponse& profile);
// Upper bounds for every mechanism that is (epsilon, delta)-DP (Kairouz, Oh, Viswanath 2015,
// theorem 2.1): larger than those from the curve. Precondition: epsilon >= 0.
Attack AttackOf(double epsilon, double delta);

// The paragraph.
std::string AttackWords(const Facts& facts);

}  // namespace dpledger::server::statement
