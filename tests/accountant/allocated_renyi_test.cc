// Rényi divergences of random allocation, both directions: against quadrature and exact moments.
#include <gtest/gtest.h>

#include <cmath>

#include "accountant/rdp/allocated_gaussian.h"

namespace dpledger::accountant::rdp {
namespace {

// log E_Q[((r_1 + r_2)/2)^power]/(order - 1) by the trapezoidal rule: the integrand is smooth.
double OfTwoRounds(double mu, double power, double order) {
  const long double step = 1.0L / 8, m = mu;
  const auto density = [](long double x) { return std::exp(-x * x / 2); };
  long double sum = 0;
  const long double reach = 14 + std::fabs(static_cast<long double>(power)) * m;
  for (long double x = -reach; x <= reach; x += step) {
    for (long double y = -reach; y <= reach; y += step) {
      const long double r = (std::exp(m * x - m * m / 2) + std::exp(m * y - m * m / 2)) / 2;
      sum += std::pow(r, static_cast<long double>(power)) * density(x) * density(y);
    }
  }
  return static_cast<double>(std::log(sum * step * step / (2 * std::acos(-1.0L)))) / (order - 1);
}

TEST(AllocatedRenyi, TwoRoundsMeetQuadrature) {
  for (const double mu : {0.3, 1.0}) {
    const AllocatedGaussianMoments moments(2, mu);
    for (const double order : {1.5, 2.0, 3.7, 8.0}) {
      const double remove = OfTwoRounds(mu, order, order);
      EXPECT_GE(moments.Remove(order), remove * (1 - 1e-12)) << mu << " " << order;
      EXPECT_LE(moments.Remove(order), 1.03 * remove) << mu << " " << order;
      const double add = OfTwoRounds(mu, 1 - order, order);
      EXPECT_GE(moments.Add(order), add * (1 - 1e-12)) << mu << " " << order;
      EXPECT_LE(moments.Add(order), 1.03 * add) << mu << " " << order;
    }
    // The control: other noise is seen.
    EXPECT_LT(AllocatedGaussianMoments(2, 0.96 * mu).Add(3.7), OfTwoRounds(mu, -2.7, 3.7));
  }
}

// E_Q[r²] = 1 + (e^{μ²} - 1)/t is exact. Add is nearly the same at many rounds; the bound by the
// geometric mean alone is μ²/2 there.
TEST(AllocatedRenyi, ManyRoundsHideTheRecord) {
  for (const uint64_t t : {1000ul, 1000000ul, 1000000000ul}) {
    for (const double mu : {0.3, 1.0, 2.0}) {
      const AllocatedGaussianMoments moments(t, mu);
      const double two = std::log1p(std::expm1(mu * mu) / static_cast<double>(t));
      EXPECT_GE(moments.Remove(2), two * (1 - 1e-12)) << t << " " << mu;
      EXPECT_LE(moments.Remove(2), 1.12 * two) << t << " " << mu;
      EXPECT_NEAR(moments.Add(2), two, (0.12 + 60 * two) * two) << t << " " << mu;
      EXPECT_LT(moments.Add(24), 30 * two) << t << " " << mu;
    }
  }
  // Where no law is within reach there is still a bound.
  EXPECT_NEAR(AllocatedGaussianMoments(10, 1000).Add(2), 550000, 1e-6);
}

}  // namespace
}  // namespace dpledger::accountant::rdp
