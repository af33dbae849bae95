// The loss distribution's bounds as bounds: each error is made the largest one (a window too short,
// a tilt that loses all digits, a mesh as fine as rounding), and the truth must still lie inside.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "accountant/numeric/fft.h"
#include "accountant/pair/sampling.h"
#include "accountant/pld/composed.h"
#include "accountant/pld/discrete_pair.h"
#include "accountant/pld/pld.h"
#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant::pld {
namespace {

using exact::Real;

// `count` runs of a step whose loss is `low` or, with probability p, `low` + step.
struct Coin {
  double p, low, step, count;

  // `zeros` points of no mass stand before the two.
  DirectedLosses Losses(size_t zeros = 0) const {
    DirectedLoss loss;
    loss.first_loss = low - step * static_cast<double>(zeros);
    loss.mass.assign(zeros + 2, 0);
    loss.mass[zeros] = 1 - p;
    loss.mass[zeros + 1] = p;
    loss.count = count;
    loss.loss_error = loss_error;
    return {{loss}, step};
  }
  // δ(ε), every loss of a step moved by `moved`.
  Real Delta(Real epsilon, Real moved = 0) const {
    const Real odds = static_cast<Real>(p) / (1 - static_cast<Real>(p));
    Real mass = std::exp(static_cast<Real>(count) * std::log1p(-static_cast<Real>(p))), delta = 0;
    for (Real k = 0; k <= count && (k < count * p || mass > 1e-300L); ++k) {
      const Real above = count * (low + moved) + k * step - epsilon;
      if (above > 0) delta += mass * -std::expm1(-above);
      mass *= (count - k) / (k + 1) * odds;
    }
    return delta;
  }

  double loss_error = 0;
};

Composed ComposedOf(const DirectedLosses& losses, double tilt, double window_tail) {
  return *Composed::Compose(losses, tilt, {}, window_tail);
}

void ExpectEncloses(const Composed& composed, double epsilon, Real least, Real greatest) {
  EXPECT_LE(composed.LogDeltaDown(epsilon), std::log(greatest)) << "epsilon " << epsilon;
  EXPECT_GE(composed.LogDeltaUp(epsilon), std::log(least)) << "epsilon " << epsilon;
}

// A twentieth of the law may be outside of the window. What is above it stands among the least
// losses, what is below it among the greatest.
TEST(ComposedBounds, HoldWhereTheWindowIsTheLargestError) {
  const Coin coin{0.5, -0.05, 0.1, 4000};
  const DirectedLosses losses = coin.Losses();
  for (const double tilt : {1e-3, 0.1, 0.5}) {
    for (const double tail : {0.05, 1e-2, 1e-3}) {
      const Composed composed = ComposedOf(losses, tilt, tail);
      const DirectedLosses::Cumulants at = losses.LogMgf(tilt);
      for (int i = -50; i <= 50; ++i) {
        const double epsilon = at.mean + 0.1 * i * std::sqrt(at.variance);
        const Real delta = coin.Delta(epsilon);
        ExpectEncloses(composed, epsilon, delta, delta);
      }
      // What it is about: near the centre the bounds are apart by the window's tails.
      EXPECT_GT(composed.LogDeltaUp(at.mean) - composed.LogDeltaDown(at.mean), tail) << tilt;
    }
  }
}

// Without a tilt every bin has the same error, and far out nothing else is left in it.
TEST(ComposedBounds, HoldWhereTransformsAndPowersAreTheLargestError) {
  for (const double count : {3.0, 1000.0, 1e6, 1e9}) {
    const Coin coin{std::fmin(0.4, 20 / count), 0, 1, count};
    const Composed composed = ComposedOf(coin.Losses(), 1e-6, 1e-25);
    for (double epsilon = 0.5; epsilon < 60; epsilon += 1) {
      const Real delta = coin.Delta(epsilon);
      ExpectEncloses(composed, epsilon, delta, delta);
    }
  }
}

// FFTW errs less than the bound says, by a factor that depends on the data, so that no law shows
// all of it. What is stated of one that is known for certain is CLAIM.md's: all the mass stands
// at 0, every bound of the transform is 1, and what is seen above 0 is the bins' error alone.
TEST(ComposedBounds, StateTheWholeErrorOfTransformsAndPowers) {
  for (const double count : {1.0, 1000.0}) {
    const Composed composed = ComposedOf({{{0, {1}, count}}, 1}, 1e-6, 1e-25);
    ASSERT_EQ(composed.bins(), 64u);
    const double transform = FftRelativeError(64), product = std::sqrt(5) * 0x1p-53;
    const double of_a_bin = count * (transform + product) + product + transform;
    // From 1/2 to the window's end there are more than 50 bins, of weight near 1 all but the first.
    EXPECT_GT(composed.LogDeltaUp(0.5), std::log(50 * of_a_bin)) << count;
    EXPECT_LT(composed.LogDeltaUp(0.5), std::log(64 * 1.1 * of_a_bin)) << count;
  }
}

// Every loss may be off by loss_error, either way.
TEST(ComposedBounds, HoldWhereTheLossesAreTheLargestError) {
  Coin coin{0.3, -0.1, 0.5, 60};
  coin.loss_error = 0.01;
  const Composed composed = ComposedOf(coin.Losses(), 1, 1e-13);
  for (double epsilon = 0; epsilon < 20; epsilon += 0.37) {
    ExpectEncloses(composed, epsilon, coin.Delta(epsilon, coin.loss_error),
                   coin.Delta(epsilon, -coin.loss_error));
  }
}

// A grid that begins far below its mass: tilting rounds at the size of the tilt times that
// distance, 2^30 times.
TEST(ComposedBounds, HoldWhereTiltingIsTheLargestError) {
  const double count = 0x1p30;
  for (const double tilt : {0.7, 1.0, 1.3, 2.1}) {
    const Coin coin{32 * std::exp(-tilt) / count, 0, 1, count};
    for (const size_t zeros : {500, 733, 1000}) {
      const Composed composed = ComposedOf(coin.Losses(zeros), tilt, 1e-13);
      for (const double epsilon : {20.5, 30.5, 40.5}) {
        const Real delta = coin.Delta(epsilon);
        ExpectEncloses(composed, epsilon, delta, delta);
      }
    }
  }
}

// What a step's discrete pair says of δ(ε) in one direction, its losses moved to the safe side.
Real DeltaOf(const DiscretePair& pair, Real epsilon, Direction direction, Side side) {
  const DirectedLoss loss = Directed(pair, 1, direction, side);
  const Real at = epsilon + (side == Side::kUpper ? -1 : 1) * static_cast<Real>(loss.loss_error);
  Real delta = loss.infinity;
  for (size_t j = 0; j < loss.mass.size(); ++j) {
    const Real above = loss.first_loss + pair.step * static_cast<Real>(j) - at;
    if (above > 0) delta += loss.mass[j] * -std::expm1(-above);
  }
  return delta;
}

void ExpectEncloses(const Shares& shares, Real epsilon, Direction direction, Real least,
                    Real greatest) {
  EXPECT_LE(DeltaOf(shares.Lower(), epsilon, direction, Side::kLower), greatest)
      << "epsilon " << epsilon << (direction == Direction::kAdd ? " add" : " remove");
  EXPECT_GE(DeltaOf(shares.Upper(), epsilon, direction, Side::kUpper), least)
      << "epsilon " << epsilon << (direction == Direction::kAdd ? " add" : " remove");
}

// More outcomes are cut away than a bound at these ε has room for.
TEST(SharesBounds, HoldWhereTheTailsAreTheLargestError) {
  for (const double q : {0.5, 1.0}) {
    for (const double tail : {1e-4, 1e-6}) {
      const auto shares = Shares::Of(SampledGaussianPair(q, 1.5), 0.001, tail, 1 << 20, {});
      ASSERT_TRUE(shares.ok()) << shares.status();
      for (Real epsilon = 0; epsilon < 6; epsilon += 0.11L) {
        const Real remove = exact::RemoveDelta(q, 1.5L, epsilon),
                   add = exact::AddDelta(q, 1.5L, epsilon);
        ExpectEncloses(*shares, epsilon, Direction::kRemove, remove, remove);
        ExpectEncloses(*shares, epsilon, Direction::kAdd, add, add);
      }
    }
  }
}

// Two outcomes whose stated masses are off by a ten-millionth.
TEST(SharesBounds, HoldWhereTheStatedMassesAreTheLargestError) {
  const double off = 1e-7;
  const Real p = 0.6L, q = 0.3L;
  Pair pair{{{0.6, 0.3}, {0.4, 0.7}}, {}, off};
  const auto shares = Shares::Of(pair, 0.01, 1e-15, 1 << 20, {});
  ASSERT_TRUE(shares.ok()) << shares.status();
  // The less likely outcome of each law may be off by all of it.
  const Real p_off = 0.4L * off, q_off = 0.3L * off;
  for (Real epsilon = 0; epsilon < 0.5L; epsilon += 0.1L) {
    const Real e = std::exp(epsilon);
    ExpectEncloses(*shares, epsilon, Direction::kRemove, (p + p_off) - e * (q - q_off),
                   (p - p_off) - e * (q + q_off));
    ExpectEncloses(*shares, epsilon, Direction::kAdd, (1 - q + q_off) - e * (1 - p - p_off),
                   (1 - q - q_off) - e * (1 - p + p_off));
  }
}

// P-mass p with losses uniformly in [loss, loss + width], up to width².
DensityPiece Narrow(double p, double loss, double width) {
  return {0, 1, 0, 0, 0, {{std::log(p), width}}, {{std::log(p) - loss, 0}}};
}

// Cells whose width is near the rounding of a loss: how wide one is, is known to a few digits.
TEST(SharesBounds, HoldWhereTheLossOfAGridPointIsTheLargestError) {
  for (int i = 0; i < 40; ++i) {
    const double step = 1e-9 * (1 + 0.013 * i), loss = std::log(2.0);
    // All else is an infinite loss in one direction or the other.
    const Pair pair{{{1.0 / 3, 0}, {0, 2.0 / 3}}, {Narrow(2.0 / 3, loss, 3.4 * step)}};
    const auto shares = Shares::Of(pair, step, 1e-15, 1 << 20, {});
    ASSERT_TRUE(shares.ok()) << shares.status();
    const Real width = 3.4L * step, epsilon = 0.3, p = 2.0L / 3 * (1 + width / 2), q = 1.0L / 3,
               delta = 1.0L / 3 + p - std::exp(epsilon) * q;
    ExpectEncloses(*shares, epsilon, Direction::kRemove, delta - 1e-14L, delta + 1e-14L);
  }
}

// One outcome inside a cell, between points that have room: the profile below has to pass under
// the kink that the outcome makes, and passes just under it.
TEST(SharesBounds, TheLowerProfilePassesJustUnderAKinkInsideACell) {
  const double step = 0.2, reach = 5 * step, bulk = 0.4, inside = 0.2;
  for (double share = 0.04; share < 1; share += 0.08) {
    const double loss = share * step, width = 1e-9;
    // Two more points, so that both laws have mass one.
    const double p = 1 - bulk - inside, q = 1 - bulk - inside * std::exp(-loss);
    const double high = (p * std::exp(reach) - q) / (2 * std::sinh(reach)), low = p - high;
    std::vector<Atom> atoms = {
        {bulk, bulk}, {high, high * std::exp(-reach)}, {low, low * std::exp(reach)}};
    const Pair piece{atoms, {Narrow(inside, loss, width)}};
    atoms.push_back({inside, inside * std::exp(-loss)});
    const Pair atom{atoms, {}};
    for (const Pair& pair : {piece, atom}) {
      const DiscretePair lower = Shares::Of(pair, step, 1e-15, 1 << 20, {})->Lower();
      for (Real epsilon = 0; epsilon <= step; epsilon += step / 200) {
        const Real delta = high * -std::expm1(epsilon - reach) +
                           inside * std::fmax(0.0L, -std::expm1(epsilon - loss));
        EXPECT_LE(DeltaOf(lower, epsilon, Direction::kRemove, Side::kLower), delta + 2 * width)
            << share << " " << epsilon;
      }
      const Real at_kink = high * -std::expm1(static_cast<Real>(loss) - reach);
      EXPECT_GE(DeltaOf(lower, loss, Direction::kRemove, Side::kLower), at_kink * (1 - 1e-6L))
          << share;
    }
  }
}

// The upper bound is of the least noise, the lower one of the most.
TEST(PldBounds, CoverTheWidthOfTheNoiseMultiplier) {
  Composition composition;
  composition.steps.push_back({1, {2, 2.2}, 40});
  for (const double epsilon : {0.5, 5.0}) {
    const auto delta = Delta(composition, epsilon, 1e-3, {}, Direction::kRemove);
    ASSERT_TRUE(delta.ok()) << delta.status();
    EXPECT_LE(delta->value.lower(), exact::RemoveDelta(1, std::sqrt(40.0L) / 2.2L, epsilon));
    EXPECT_GE(delta->value.upper(), exact::RemoveDelta(1, std::sqrt(40.0L) / 2, epsilon));
  }
}

}  // namespace
}  // namespace dpledger::accountant::pld
