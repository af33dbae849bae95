// The Rényi moments as bounds: each error is made the largest one, and the bound must still be
// above the moment.
#include <gtest/gtest.h>

#include <cmath>

#include "accountant/rdp/sampled_gaussian.h"
#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant::rdp {
namespace {

using exact::Real;

// e^y was once taken out of the logarithm where q e^y is far below 1, and losses lost their digits.
// By a trapezoid of 330 digits.
TEST(MomentBounds, HoldAtSamplingProbabilitiesFarBelowRounding) {
  const double found = LogMomentUp(1e-32, 7, 1.001);
  EXPECT_GE(found, 5.6394960240602959357e-47);
  EXPECT_LE(found, 5.6394960240602959357e-47 * (1 + 1e-6));
}

// 1 + u comes within rounding of 0 there, and what was left of its logarithm entered the sum.
TEST(MomentBounds, HoldAtSamplingProbabilitiesWithinRoundingOfOne) {
  for (const double rest : {0x1p-53, 0x1p-45, 1e-9, 1e-4}) {
    for (const double mu : {0.5, 3.0, 6.0, 1 / 0.12}) {
      for (const double order : {1.001, 1.01}) {
        const Real truth = exact::LogMoment(1 - rest, mu, order);
        const double found = LogMomentUp(1 - rest, mu, order);
        EXPECT_GE(found, truth - 1e-17L) << rest << " " << mu << " " << order;
        EXPECT_LE(found, truth * (1 + 1e-6L)) << rest << " " << mu << " " << order;
      }
    }
  }
}

}  // namespace
}  // namespace dpledger::accountant::rdp
