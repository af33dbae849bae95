// The Rényi moments as bounds: each error is made the largest one, and the bound must still be
// above the moment.
#include <gtest/gtest.h>

#include <cmath>

#include "accountant/rdp/sampled_gaussian.h"

namespace dpledger::accountant::rdp {
namespace {

// e^y was once taken out of the logarithm where q e^y is far below 1, and losses lost their digits.
// By a trapezoid of 330 digits.
TEST(MomentBounds, HoldAtSamplingProbabilitiesFarBelowRounding) {
  const double found = LogMomentUp(1e-32, 7, 1.001);
  EXPECT_GE(found, 5.6394960240602959357e-47);
  EXPECT_LE(found, 5.6394960240602959357e-47 * (1 + 1e-6));
}

}  // namespace
}  // namespace dpledger::accountant::rdp
