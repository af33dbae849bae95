// The twin itself, against closed forms and against quadratures that it does not use.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/twin/profile.h"

namespace dpledger::twin {
namespace {

// They have points in common, and both are narrow.
void ExpectSame(const Ball& a, const Ball& b, double relative) {
  EXPECT_TRUE(arb_overlaps(a.get(), b.get())) << ToString(a) << " and " << ToString(b);
  for (const Ball& each : {a, b})
    EXPECT_LE(Upper(each) - Lower(each), relative * std::fabs(each.Middle()) + 1e-20)
        << ToString(each);
}

Kind KindOf(double q, double mu, double count = 1, bool add = false) {
  return {Ball(q), Ball(mu), count, add};
}

TEST(Transform, AgreesWithAdaptiveQuadrature) {
  for (const bool add : {false, true}) {
    for (const double q : {1e-6, 0.01, 0.5, 1 - 1e-12}) {
      for (const double mu : {0.05, 1.0, 2.0}) {
        const Kind kind = KindOf(q, mu, 1, add);
        const double c = add ? 1.5 : 2.5;
        const Transform transform(kind, {}, kind.Power(c), 6, 60);
        ASSERT_TRUE(transform.ok());
        const std::vector<Complex> line = transform.OnLine(3, 3);
        for (int k = 0; k < 3; ++k) {
          const Complex truth = MomentByQuadrature(kind, kind.Power(c), add ? -3.0 * k : 3.0 * k);
          ExpectSame(line[k].Re(), truth.Re(), 1e-12);
          if (k > 0) {
            ExpectSame(line[k].Im(), truth.Im(), 1e-6);
          }
        }
      }
    }
  }
}

// A control: another noise is another moment.
TEST(Transform, IsNotThatOfOtherNoise) {
  const Kind kind = KindOf(0.01, 1);
  const Ball truth = MomentByQuadrature(KindOf(0.01, 1 + 1e-9), 3, 0).Re();
  EXPECT_FALSE(arb_overlaps(Transform(kind, {}, 3, 0, 60).AtZero().get(), truth.get()));
}

TEST(Envelope, IsAboveTheTransform) {
  for (const bool add : {false, true}) {
    const Kind kind = KindOf(0.1, 1.5, 1, add);
    const Transform transform(kind, {}, kind.Power(2), 40, 60);
    for (const double y : {2.0, 10.0, 40.0}) {
      const Ball truth = Modulus(transform.OnLine(y, 2)[1]);
      for (const double b : {0.05, 0.3, 1.0}) {
        EXPECT_FALSE(CertainlyLess(Envelope(kind, {}, kind.Power(2), y, b), truth))
            << y << " " << b;
      }
    }
  }
}

// One step takes the ladder, a thousand Gaussians one line.
TEST(Profile, AgreesWithTheClosedForms) {
  int ladders = 0;
  for (const double q : {1e-4, 0.05, 0.5}) {
    for (const double mu : {0.5, 2.0}) {
      const Kind kind = KindOf(q, mu);
      const double epsilon = 0.3;
      const Ball truth = DeltaOfOneStep(kind.q, kind.mu, false, epsilon);
      const auto profile = Profile::Lay({kind}, epsilon, std::log(truth.Middle()));
      ASSERT_TRUE(profile.has_value()) << q << " " << mu;
      ExpectSame(profile->DeltaAt(epsilon), truth, 1e-5);
      ladders += profile->parts() > 1;
    }
  }
  EXPECT_GT(ladders, 2);
  for (const bool add : {false, true}) {
    const Kind kind = KindOf(1, 0.03, 1000, add);
    const Ball mu = kind.mu * Sqrt(1000.0);
    for (const double epsilon : {0.0, 1.0, 6.0, 30.0}) {
      const Ball truth = DeltaOfOneStep(1.0, mu, add, epsilon);
      const auto profile = Profile::Lay({kind}, epsilon, std::log(truth.Middle()));
      ASSERT_TRUE(profile.has_value()) << epsilon;
      ExpectSame(profile->DeltaAt(epsilon), truth, 1e-5);
      EXPECT_FALSE(CertainlyLess(DeltaUpByChernoff({kind}, epsilon), truth));
    }
  }
}

// δ at ε = 0.00220996948369770..., by nested quadrature at 30 digits (tests/oracle/few_jumps.py).
TEST(Profile, OfTwoStepsIsThatOfTheQuadrature) {
  const Kind kind{Ball(4.68e-6), Ball(1.0) / 0.6605, 2, false};
  const double epsilon = 0.002209969483697702;
  const auto profile = Profile::Lay({kind}, epsilon, std::log(1.247e-9));
  ASSERT_TRUE(profile.has_value());
  const Ball delta = profile->DeltaAt(epsilon);
  EXPECT_LE(Lower(delta), 1.247e-9);
  EXPECT_GE(Upper(delta), 1.247e-9);
  EXPECT_LE(Upper(delta) - Lower(delta), 1e-5 * 1.247e-9);
  // A control: not at an ε that is a thousandth off.
  EXPECT_LT(Upper(profile->DeltaAt(epsilon * 1.001)), 1.247e-9);
}

}  // namespace
}  // namespace dpledger::twin
