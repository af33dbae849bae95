// Sums over tilted atoms and composed bins, against plain sums in long double.
#include "accountant/pld/composed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "accountant/pld/directed_loss.h"

namespace dpledger::accountant::pld {
namespace {

// Masses over many powers of ten, with gaps wider than a block, on `atoms` points.
DirectedLoss Rugged(size_t atoms, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> log_mass(-120, 0);
  DirectedLoss loss{-1.25, std::vector<double>(atoms, 0)};
  double total = 0;
  for (size_t j = 0; j < atoms; ++j) {
    if (j / 100 % 3 == 1) continue;
    total += loss.mass[j] = std::exp(log_mass(random));
  }
  for (double& mass : loss.mass) mass /= total;
  return loss;
}

TEST(DirectedLosses, SumOverBlocksThatCount) {
  for (const size_t atoms : {1u, 31u, 32u, 33u, 1000u, 4001u}) {
    const DirectedLoss loss = Rugged(atoms, 7);
    for (const double step : {1e-4, 0.01, 0.5}) {
      const DirectedLosses losses({loss}, step);
      for (const double s : {-40.0, -3.0, 0.0, 1e-3, 2.0, 25.0, 700.0, 1e5}) {
        SCOPED_TRACE(::testing::Message() << atoms << " atoms, step " << step << ", s " << s);
        long double greatest = -INFINITY, sum = 0, first = 0, second = 0;
        const auto exponent = [&](size_t j) {
          return std::log((long double)loss.mass[j]) + (long double)s * step * j;
        };
        for (size_t j = 0; j < atoms; ++j) greatest = std::fmax(greatest, exponent(j));
        for (size_t j = 0; j < atoms; ++j) {
          const long double weight = std::exp(exponent(j) - greatest);
          sum += weight;
          first += weight * j;
          second += weight * j * j;
        }
        const long double mean = first / sum, variance = second / sum - mean * mean;
        const DirectedLosses::Cumulants found = losses.LogMgf(s);
        const double value = (double)(greatest + std::log(sum) + s * -1.25L);
        EXPECT_NEAR(found.value, value, 1e-13 * (1 + std::fabs(value)));
        EXPECT_NEAR(found.mean, (double)(-1.25L + step * mean), 1e-11 * (1 + step * atoms));
        EXPECT_NEAR(found.variance, (double)(step * step * variance),
                    1e-9 * std::pow(step * atoms, 2));
      }
    }
  }
}

// δ of one step is a sum over its atoms.
TEST(Composed, SumsWhatIsAboveFromAnyBin) {
  for (const double step : {1e-3, 0.05}) {
    const DirectedLoss loss = Rugged(700, 3);
    for (const double tilt : {0.5, 4.0, 60.0}) {
      const auto composed = Composed::Compose(DirectedLosses({loss}, step), tilt, {}, 1e-25);
      ASSERT_TRUE(composed.ok()) << composed.status();
      for (double bin = 0.25; bin < 699; bin += 6.37) {
        const double epsilon = loss.first_loss + bin * step;
        long double delta = 0;
        for (size_t j = 0; j < 700; ++j) {
          const long double above = loss.first_loss + (long double)step * j - epsilon;
          if (above > 0) delta += loss.mass[j] * -std::expm1(-above);
        }
        SCOPED_TRACE(::testing::Message()
                     << "step " << step << ", tilt " << tilt << ", bin " << bin);
        const double log_delta = (double)std::log(delta);
        const double up = composed->LogDeltaUp(epsilon), down = composed->LogDeltaDown(epsilon);
        EXPECT_GE(up, log_delta - 1e-15 * std::fabs(log_delta));
        EXPECT_LE(down, log_delta + 1e-15 * std::fabs(log_delta));
        // Where the tilted bins have digits.
        if (log_delta > -12 && tilt * step <= 0.025) {
          EXPECT_LE(up, log_delta + 1e-6);
          EXPECT_GE(down, log_delta - 1e-6);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dpledger::accountant::pld
