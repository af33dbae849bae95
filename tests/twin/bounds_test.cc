// What the accountant's engines expose of their bounds, held against the twin: moments, transforms
// up a line, envelopes, cells of the loss grid.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "accountant/contour/envelope.h"
#include "accountant/contour/step.h"
#include "accountant/pair/sampling.h"
#include "accountant/pld/directed_loss.h"
#include "accountant/pld/discrete_pair.h"
#include "accountant/rdp/sampled_gaussian.h"
#include "tests/twin/profile.h"
#include "tests/twin/settings.h"

namespace dpledger::twin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// log A(α), to many digits of A - 1.
Ball LogMoment(double q, double mu, double order) {
  const Kind kind{Ball(q), Ball(mu), 1, false};
  // Absolutely; A is at least this great.
  const double least = std::fmax(0, order * std::log(q) + order * (order - 1) * mu * mu / 2);
  const double digits = 60 - 2 * std::log(q) + std::fmax(0, -2 * std::log(mu)) +
                        std::fmax(0, -std::log(order - 1)) - least;
  const Transform transform(kind, {}, order, 0, digits, 1 << 18);
  return transform.ok() ? Log(transform.AtZero()) : Ball(-1.0).Widened(kInfinity);
}

TEST(RenyiMoments, AreNeverBelowTheTwinsAndLittleAbove) {
  const Bits wide(640);
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform;
  const auto expect = [](double q, double mu, double order) {
    const Ball truth = LogMoment(q, mu, order);
    ASSERT_TRUE(truth.IsFinite()) << q << " " << mu << " " << order;
    const double found = accountant::rdp::SampledGaussianMoments(q, mu).LogMomentUp(order);
    EXPECT_FALSE(CertainlyLess(Ball(found), truth)) << q << " " << mu << " " << order;
    // The quadrature's floor shows where A - 1 is below it.
    EXPECT_LE(found, Upper(truth) * (1 + 1e-6) + 1e-58) << q << " " << mu << " " << order;
  };
  for (size_t i = 0; i < SettingsOf(80); ++i) {
    const double q = std::exp(std::log(1e-6) * uniform(random)),
                 mu = 0.02 * std::exp(std::log(400) * uniform(random)),
                 order = 1 + 1e-3 * std::exp(std::log(1e5) * uniform(random));
    expect(q, mu, order);
  }
  for (const double q : {1e-32, 1e-12, 1 - 1e-9, 1 - 0x1p-53}) {
    for (const double mu : {0.05, 1.0, 7.0}) {
      for (const double order : {1.001, 1.5, 30.0}) expect(q, mu, order);
    }
  }
}

// K(c) and the transform up the line, both directions.
TEST(StepsOnALine, HaveTheTwinsTransformWithinTheirErrors) {
  Settings settings(5);
  int compared = 0;
  for (size_t i = 0; i < SettingsOf(40); ++i) {
    const double q = i % 8 == 0 ? 1 - 1e-9 : settings.LogUniform(1e-6, 1);
    const double mu = settings.LogUniform(0.02, 5), spacing = settings.LogUniform(0.01, 3);
    const double c = std::ldexp(std::round(std::ldexp(settings.LogUniform(0.1, 60), 10)), -10);
    for (const bool add : {false, true}) {
      const accountant::contour::Step step{q, mu, 0, 1, add, nullptr};
      accountant::contour::StepOnLine found;
      double work = 1e7;
      constexpr size_t kNodes = 6;
      if (!PutOnLine(step, c, spacing, kNodes, 40, work, found)) continue;
      const Kind kind{Ball(q), Ball(mu), 1, add};
      const Transform transform(kind, {}, kind.Power(c), spacing * kNodes, 75);
      if (!transform.ok()) continue;
      ++compared;
      const std::vector<Complex> line = transform.OnLine(spacing, kNodes + 1);
      const auto expect_near = [&](double value, const Ball& truth, double error) {
        EXPECT_FALSE(CertainlyLess(Ball(error), Max(truth - value, Ball(value) - truth)))
            << "q " << q << " mu " << mu << " c " << c << (add ? " add " : " remove ")
            << ToString(truth) << " found " << value << " error " << error;
      };
      expect_near(found.log_mgf, Log(line[0].Re()), found.log_mgf_error);
      const Complex level(line[0].Re(), 0.0);
      for (size_t k = 0; k < kNodes; ++k) {
        const Complex ratio = Log(line[k + 1] / level);
        expect_near(found.log_modulus[k], ratio.Re(), found.error[k]);
        // The phase is known up to turns.
        const double turns = std::round((found.phase[k] - ratio.Im().Middle()) / (2 * M_PI));
        expect_near(found.phase[k], ratio.Im() + 2.0 * Pi() * turns, found.error[k]);
      }
    }
  }
  EXPECT_GE(compared, 40);
}

TEST(Envelopes, AreAboveTheTwinsTransform) {
  Settings settings(6);
  for (size_t i = 0; i < SettingsOf(12); ++i) {
    const double q = settings.LogUniform(1e-4, 1), mu = settings.LogUniform(0.05, 4), c = 1.5;
    for (const bool add : {false, true}) {
      const Kind kind{Ball(q), Ball(mu), 1, add};
      const Transform transform(kind, {}, kind.Power(c), 100, 75);
      ASSERT_TRUE(transform.ok());
      const Ball whole = transform.AtZero();
      // Few digits: nodes so far apart that the rule's error decides.
      for (const double digits : {3.0, 8.0}) {
        accountant::contour::Envelope envelope({q, mu, 0, 1, add, nullptr}, c, Lower(Log(whole)),
                                               digits);
        size_t height = 3;
        for (double y = 0.4; y < 100; y *= 2.5) {
          const Ball truth = Modulus(transform.OnLine(y, 2)[1]) / whole;
          EXPECT_FALSE(CertainlyLess(Exp(Ball(envelope.LogBound(y, height))), truth))
              << q << " " << mu << " y " << y << " digits " << digits;
        }
      }
    }
  }
}

// Each cell of the loss grid: its share of P- and Q-mass put on its ends, by normal tails.
TEST(LossGrids, HoldTheTwinsCellMasses) {
  const Bits wide(300);
  using accountant::pld::DiscretePair;
  using accountant::pld::Shares;
  for (const double q : {1e-6, 1e-3, 0.2, 1 - 1e-9}) {
    for (const double mu : {0.3, 1.0, 3.0}) {
      for (const double step : {0.5, 0.01}) {
        const double tail = 1e-12;
        const auto shares =
            Shares::Of(accountant::SampledGaussianPair(q, mu), step, tail, 1 << 20, {});
        ASSERT_TRUE(shares.ok()) << shares.status();
        const DiscretePair upper = shares->Upper();
        const size_t points = upper.mass.size();
        const Ball p = Ball(1.0) - q, m = mu;
        struct Tails {
          Ball null, shifted;  // of N(0,1) and N(μ,1) beyond the place of a loss
        };
        const auto loss_at = [&](size_t j) {
          return Ball(upper.first_loss) + Ball(step) * static_cast<double>(j);
        };
        const auto beyond = [&](const Ball& loss) -> Tails {
          const Ball ratio = (Exp(loss) - p) / q;
          if (!CertainlyLess(0.0, ratio)) return {Ball(1.0), Ball(1.0)};
          const Ball t = Log(ratio) / m + m / 2.0;
          return {NormalTail(t), NormalTail(t - m)};
        };
        const Ball shrink = ExpM1(Ball(step));
        Tails at = beyond(loss_at(0));
        Ball left_share;  // of the cell before, at this point
        const size_t stride = 1;
        for (size_t j = 0; j + 1 < points; j += stride) {
          const Tails next = beyond(loss_at(j + 1));
          const Ball null = at.null - next.null, shifted = at.shifted - next.shifted;
          const Ball p_mass = p * null + Ball(q) * shifted;
          const Ball e = Exp(loss_at(j));
          const Ball low = (e * Exp(Ball(step)) * null - p_mass) / shrink;
          const Ball high = (p_mass - e * null) * Exp(Ball(step)) / shrink;
          const Ball mass = left_share + low;
          // Mass that was cut stands at the ends.
          if (j > 0) {
            EXPECT_FALSE(CertainlyLess(Ball(upper.mass[j]), mass - tail))
                << q << " " << mu << " " << step << " cell " << j << " of " << points << " "
                << ToString(mass) << " found " << upper.mass[j];
            if (j + 2 < points && j > 1) {
              EXPECT_LE(upper.mass[j], Upper(mass) * (1 + 1e-9) + 1e-15)
                  << q << " " << mu << " " << step << " cell " << j << " of " << points;
            }
          }
          left_share = high;
          at = next;
        }
        // Both profiles beside the closed one, between grid points too, both directions.
        const DiscretePair lower = shares->Lower();
        for (const bool add : {false, true}) {
          const auto direction = add ? accountant::Direction::kAdd : accountant::Direction::kRemove;
          for (int i = 0; i < 25; ++i) {
            const double epsilon = 0.0371 * i * step * 10;
            const Ball truth = DeltaOfOneStep(q, m, add, epsilon);
            for (const bool is_upper : {true, false}) {
              const auto side =
                  is_upper ? accountant::pld::Side::kUpper : accountant::pld::Side::kLower;
              const accountant::pld::DirectedLoss loss =
                  accountant::pld::Directed(is_upper ? upper : lower, 1, direction, side);
              const Ball moved = Ball(epsilon) + (is_upper ? -loss.loss_error : loss.loss_error);
              Ball delta = loss.infinity;
              for (size_t j = 0; j < loss.mass.size(); ++j) {
                const Ball above =
                    Ball(loss.first_loss) + Ball(step) * static_cast<double>(j) - moved;
                if (CertainlyLess(0.0, above)) delta = delta - Ball(loss.mass[j]) * ExpM1(-above);
              }
              EXPECT_FALSE(is_upper ? CertainlyLess(delta, truth) : CertainlyLess(truth, delta))
                  << q << " " << mu << " " << step << (is_upper ? " upper" : " lower")
                  << (add ? " add " : " remove ") << epsilon << " " << ToString(truth) << " found "
                  << ToString(delta);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dpledger::twin
