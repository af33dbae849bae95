// The ratio of random allocation, bounded by laws of finitely many atoms, against nested quadrature
// (oracle/allocation_oracle.py), closed forms and exact moments.
#include "accountant/allocation/ratio_law.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant::allocation {
namespace {

using ::testing::HasSubstr;

struct Bounds {
  RatioLaw upper, lower;
};
Bounds Both(const Rounds& rounds, double mesh, double tail = 1e-15) {
  auto upper = UpperLaw(rounds, mesh, tail, {}), lower = LowerLaw(rounds, mesh, tail, {});
  EXPECT_TRUE(upper.ok()) << upper.status();
  EXPECT_TRUE(lower.ok()) << lower.status();
  return {*std::move(upper), *std::move(lower)};
}

// What a law says of E_Q[(r - e^ε)_+] and E_Q[(1 - e^ε r)_+]; `sign` 1 for an upper law, -1 for a
// lower one.
double Remove(const RatioLaw& law, double epsilon, int sign) {
  const double y = std::exp(epsilon - sign * law.loss_error);
  double sum = law.p_cut;
  for (size_t j = 0; j < law.q.size(); ++j) sum += law.q[j] * std::fmax(0, law.ratio[j] - y);
  return sum;
}
double Add(const RatioLaw& law, double epsilon, int sign) {
  const double y = std::exp(epsilon - sign * law.loss_error);
  double sum = law.q_cut;
  for (size_t j = 0; j < law.q.size(); ++j) sum += law.q[j] * std::fmax(0, 1 - y * law.ratio[j]);
  return sum;
}
template <typename Profile>
double EpsilonAt(double delta, const Profile& profile) {
  double low = 0, high = 700;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (profile(middle) > delta ? low : high) = middle;
  }
  return high;
}
struct Epsilons {
  double remove_low, remove_up, add_low, add_up;
};
Epsilons At(const Bounds& laws, double delta) {
  return {EpsilonAt(delta, [&](double e) { return Remove(laws.lower, e, -1); }),
          EpsilonAt(delta, [&](double e) { return Remove(laws.upper, e, 1); }),
          EpsilonAt(delta, [&](double e) { return Add(laws.lower, e, -1); }),
          EpsilonAt(delta, [&](double e) { return Add(laws.upper, e, 1); })};
}
// E_Q[r^k] of a law's atoms.
double Moment(const RatioLaw& law, int k) {
  long double sum = 0;
  for (size_t j = 0; j < law.q.size(); ++j)
    sum += static_cast<long double>(law.q[j]) * std::pow(law.ratio[j], static_cast<double>(k));
  return static_cast<double>(sum);
}

TEST(RatioLaw, FewRoundsMeetQuadrature) {
  const struct {
    uint64_t rounds;
    double z, epsilon, remove, add;
  } rows[] = {
      {2, 1, 1, 0.059206501086, 0.050197662369},    {2, 0.5, 3, 0.11204437051, 0.066675478961},
      {2, 2, 0.5, 0.018326594761, 0.017397485847},  {2, 5, 0.25, 0.00255287365, 0.0025318399613},
      {3, 1, 0.5, 0.10684064362, 0.098094944061},   {3, 1, 2, 0.0016141200863, 0.00026028102959},
      {3, 0.5, 4, 0.029440122713, 0.0038822514056}, {3, 3, 0.25, 0.010702866398, 0.010496808522},
  };
  for (const auto& row : rows) {
    const Bounds laws = Both({row.rounds, 1 / row.z}, 0.01);
    const double remove_low = Remove(laws.lower, row.epsilon, -1);
    const double remove_up = Remove(laws.upper, row.epsilon, 1);
    EXPECT_LE(remove_low, row.remove) << row.rounds << " " << row.z;
    EXPECT_GE(remove_up, row.remove) << row.rounds << " " << row.z;
    EXPECT_LE(remove_up - remove_low, 5e-4 * row.remove) << row.rounds << " " << row.z;
    const double add_low = Add(laws.lower, row.epsilon, -1);
    const double add_up = Add(laws.upper, row.epsilon, 1);
    EXPECT_LE(add_low, row.add) << row.rounds << " " << row.z;
    EXPECT_GE(add_up, row.add) << row.rounds << " " << row.z;
    EXPECT_LE(add_up - add_low, 1e-3 * row.add) << row.rounds << " " << row.z;
    // The control: noise that is 1 % off is seen.
    const Bounds less = Both({row.rounds, 1.01 / row.z}, 0.01);
    EXPECT_GT(Remove(less.lower, row.epsilon, -1), row.remove);
    EXPECT_GT(Add(less.lower, row.epsilon, -1), row.add);
    const Bounds more = Both({row.rounds, 0.99 / row.z}, 0.01);
    EXPECT_LT(Remove(more.upper, row.epsilon, 1), row.remove);
    EXPECT_LT(Add(more.upper, row.epsilon, 1), row.add);
  }
}

TEST(RatioLaw, OneRoundIsTheGaussianMechanism) {
  for (const double z : {0.1, 0.3, 1.0, 30.0, 1e6}) {
    const long double mu = 1 / static_cast<long double>(z);
    const Bounds laws = Both({1, 1 / z}, 0.01, 1e-40);
    for (const double normal : {0.5, 2.0, 7.0}) {
      const double epsilon = static_cast<double>(mu) * (normal + static_cast<double>(mu) / 2);
      const double truth = static_cast<double>(exact::RemoveDelta(1, mu, epsilon));
      EXPECT_LE(Remove(laws.lower, epsilon, -1), truth * (1 + 1e-12)) << z;
      EXPECT_GE(Remove(laws.upper, epsilon, 1), truth * (1 - 1e-12)) << z;
      EXPECT_NEAR(Remove(laws.upper, epsilon, 1), truth, 0.04 * truth) << z;
      EXPECT_LE(Add(laws.lower, epsilon, -1), truth * (1 + 1e-12)) << z;
      EXPECT_GE(Add(laws.upper, epsilon, 1), truth * (1 - 1e-12)) << z;
      EXPECT_NEAR(Add(laws.upper, epsilon, 1), truth, 0.04 * truth) << z;
    }
  }
}

// One of two rounds, the other not run: a Poisson-sampled Gaussian of probability 1/2.
TEST(RatioLaw, MissingRoundsShowNothing) {
  const Bounds laws = Both({2, 1, 1}, 0.01);
  for (const double epsilon : {0.1, 0.5, 2.0}) {
    const double remove = static_cast<double>(exact::RemoveDelta(0.5L, 1, epsilon));
    EXPECT_LE(Remove(laws.lower, epsilon, -1), remove);
    EXPECT_GE(Remove(laws.upper, epsilon, 1), remove);
    EXPECT_NEAR(Remove(laws.upper, epsilon, 1), remove, 1e-3 * remove);
    const double add = static_cast<double>(exact::AddDelta(0.5L, 1, epsilon));
    EXPECT_LE(Add(laws.lower, epsilon, -1), add);
    EXPECT_GE(Add(laws.upper, epsilon, 1), add);
  }
}

// The record's outcomes lie where a normal density is below the least double: what it lost there
// would be missing from an upper law.
TEST(RatioLaw, MassesBelowTheLeastDoubleAreCounted) {
  for (const double mu : {5.0, 7.0, 8.0}) {
    const Bounds laws = Both({2, mu, 1}, 0.02, 1e-285);
    for (const double outcome : {36.0, 37.5, 38.5, 39.0, 40.0, 41.0}) {
      const double epsilon = mu * (outcome - mu / 2);
      const double truth = static_cast<double>(exact::RemoveDelta(0.5L, mu, epsilon));
      if (truth < 1e-280) continue;
      EXPECT_GE(Remove(laws.upper, epsilon, 1), truth * (1 - 1e-9)) << mu << " " << outcome;
      EXPECT_LE(Remove(laws.lower, epsilon, -1), truth * (1 + 1e-9)) << mu << " " << outcome;
    }
  }
}

// E_Q[r²] = 1 + (e^{μ²} - 1)/t and the third moment are exact at any t, and convex functions' means
// have the order of the laws. Half of a fine mesh has a quarter of the excess.
TEST(RatioLaw, MomentsOfManyRoundsLieBetween) {
  for (const uint64_t t : {7ul, 1000ul, 1000000ul}) {
    for (const double mu : {0.1, 0.5, 1.0, 2.0}) {
      const double n = static_cast<double>(t), variance = std::expm1(mu * mu) / n;
      const double third = std::exp(3 * mu * mu) - 3 * std::exp(mu * mu) + 2;
      const double skew = third / (n * n);  // E[(r - 1)³]
      const auto excess = [&](const RatioLaw& law, int k) {
        const double mass = Moment(law, 0), mean = Moment(law, 1);
        EXPECT_NEAR(mass, 1, 1e-9 + 1e-12 * n);
        EXPECT_NEAR(mean, 1, 1e-9 + 1e-12 * n);
        // Central, lest a variance of 1e-6 drown in 1.
        long double sum = 0;
        for (size_t j = 0; j < law.q.size(); ++j)
          sum += static_cast<long double>(law.q[j]) * std::pow(law.ratio[j] - 1, k);
        return static_cast<double>(sum);
      };
      const Bounds laws = Both({t, mu}, 0.02, 1e-25);
      EXPECT_GT(excess(laws.upper, 2), variance) << t << " " << mu;
      EXPECT_LT(excess(laws.lower, 2), variance) << t << " " << mu;
      EXPECT_NEAR(excess(laws.upper, 2), variance, 3e-3 * variance) << t << " " << mu;
      EXPECT_NEAR(excess(laws.lower, 2), variance, 3e-3 * variance) << t << " " << mu;
      // (r - 1)³ + 3(r - 1)² is convex for r >= 0.
      EXPECT_GT(excess(laws.upper, 3) + 3 * excess(laws.upper, 2), skew + 3 * variance);
      EXPECT_LT(excess(laws.lower, 3) + 3 * excess(laws.lower, 2), skew + 3 * variance);
    }
  }
}

// From a prototype that shares nothing with this code; it had other grids, and no directed
// rounding.
TEST(RatioLaw, MeetsPrototypeIntervals) {
  const struct {
    uint64_t rounds;
    double z, remove_low, remove_up, add_low, add_up;
  } rows[] = {
      {1000, 1, 0.17170, 0.17179, 0.14941, 0.14948},
      {10000, 1, 0.045820, 0.045826, 0.044510, 0.044518},
      {10000, 0.5, 1.94186, 1.94197, 0.20345, 0.20349},
      {30000, 1, 0.025133, 0.025137, 0.024743, 0.024748},
      {1000000, 1, 0.003674, 0.003675, 0.003666, 0.003666},
      {1000000, 0.3, 6.96665, 6.96671, 0.22875, 0.22895},
  };
  for (const auto& row : rows) {
    const Epsilons at = At(Both({row.rounds, 1 / row.z}, 0.02, 1e-12), 1e-6);
    EXPECT_LE(at.remove_low, row.remove_up) << row.rounds << " " << row.z;
    EXPECT_GE(at.remove_up, row.remove_low) << row.rounds << " " << row.z;
    EXPECT_LE(at.remove_up - at.remove_low, 0.004 * row.remove_up) << row.rounds << " " << row.z;
    EXPECT_LE(at.add_low, row.add_up) << row.rounds << " " << row.z;
    EXPECT_GE(at.add_up, row.add_low) << row.rounds << " " << row.z;
  }
}

// Much is cut: what is left alone is below the truth, and with the cuts it is above.
TEST(RatioLaw, CutsAreCharged) {
  const double tail = 0.02;
  for (const double epsilon : {3.0, 5.0}) {
    const double truth = static_cast<double>(exact::RemoveDelta(1, 2, epsilon));
    auto upper = *UpperLaw({1, 2}, 0.002, tail, {});
    EXPECT_GE(Remove(upper, epsilon, 1), truth);
    EXPECT_GE(Add(upper, epsilon, 1), truth);
    EXPECT_LE(upper.p_cut, 2 * tail);
    EXPECT_LE(upper.q_cut, 2 * tail);
    upper.p_cut = upper.q_cut = 0;
    EXPECT_LT(Remove(upper, epsilon, 1), truth);
    EXPECT_LT(Add(upper, epsilon, 1), truth);
  }
  // Of many rounds, trimmed at every doubling: against laws with hardly a cut.
  const Bounds fine = Both({4096, 1}, 0.01, 1e-14);
  auto upper = *UpperLaw({4096, 1}, 0.01, tail, {});
  for (const double epsilon : {0.05, 0.1}) {
    EXPECT_GE(Remove(upper, epsilon, 1), Remove(fine.lower, epsilon, -1));
    EXPECT_GE(Add(upper, epsilon, 1), Add(fine.lower, epsilon, -1));
  }
  upper.p_cut = upper.q_cut = 0;
  EXPECT_LT(Remove(upper, 0.1, 1), Remove(fine.lower, 0.1, -1));
  EXPECT_LT(Add(upper, 0.1, 1), Add(fine.lower, 0.1, -1));
}

// At y = 0 the claim is that all mass is there: in the atoms, or among what was cut. Next to
// nothing is charged twice, so that a forgotten charge of any level shows.
TEST(RatioLaw, NothingIsLost) {
  for (const double mu : {0.3, 1.0, 3.0}) {
    const RatioLaw upper = *UpperLaw({4096 + 1024 + 1, mu}, 0.03, 1e-4, {});
    EXPECT_GE(Moment(upper, 0) + upper.q_cut, 1) << mu;
    EXPECT_LE(Moment(upper, 0) + upper.q_cut, 1 + 1e-7) << mu;
    EXPECT_GE(Moment(upper, 1) + upper.p_cut, 1) << mu;
    EXPECT_LE(Moment(upper, 1) + upper.p_cut, 1 + 1e-6) << mu;
    const RatioLaw lower = *LowerLaw({4096 + 1024 + 1, mu}, 0.03, 1e-4, {});
    EXPECT_LE(Moment(lower, 0), 1);
    EXPECT_LE(Moment(lower, 1), 1);
  }
}

// Where the record's own round decides, its outcomes have next to no Q-mass. Let all other rounds
// show nothing: a Poisson round of probability 1/t, which is less.
TEST(RatioLaw, KeepsOutcomesThatOnlyTheRecordMakes) {
  const double mu = 9;
  for (const uint64_t t : {2ul, 1000ul, 1000000ul}) {
    const double n = static_cast<double>(t);
    const Bounds laws = Both({t, mu}, 0.05, 1e-12);
    const Epsilons at = At(laws, 1e-6);
    const auto alone = [&](double e) {
      return n * static_cast<double>(exact::RemoveDelta(1 / static_cast<long double>(n), mu, e));
    };
    // Disjoint events nearly: n times one round's share, up to what two rounds share.
    EXPECT_NEAR(at.remove_up, EpsilonAt(1e-6, alone), 1e-3 * at.remove_up) << t;
    EXPECT_LE(at.remove_up - at.remove_low, 1e-3 * at.remove_up) << t;
    EXPECT_LE(at.add_up - at.add_low, 3e-3 * at.add_up) << t;
  }
}

TEST(RatioLaw, FarOutAndNearTheEnds) {
  // δ of 1e-100, against E[((r_1 + t - 1)/t - y)_+] below, and a round alone above.
  const Bounds far = Both({1000, 1}, 0.03, 1e-107);
  const Epsilons at = At(far, 1e-100);
  const auto below = [&](double e) {
    return static_cast<double>(exact::RemoveDelta(1 / 1000.0L, 1, e));
  };
  EXPECT_GE(at.remove_up, EpsilonAt(1e-100, below));
  EXPECT_LE(at.remove_up - at.remove_low, 0.02 * at.remove_up);
  // Any number of rounds has a law; beyond 2^36 the upper one is that of 2^36.
  const RatioLaw most = *UpperLaw({uint64_t{1} << 53, 1}, 0.05, 1e-12, {});
  EXPECT_EQ(most.q, UpperLaw({uint64_t{1} << 36, 1}, 0.05, 1e-12, {})->q);
  EXPECT_LE(Moment(*LowerLaw({uint64_t{1} << 53, 1}, 0.05, 1e-12, {}), 1), 1);
  // Noise that hides everything.
  const Bounds quiet = Both({100, 1e-12}, 0.05);
  EXPECT_LT(Remove(quiet.upper, 0, 1), 1e-9);
  EXPECT_EQ(Remove(quiet.lower, 0, -1), 0);
}

TEST(RatioLaw, SaysWhichLimitIsHit) {
  for (const auto law : {UpperLaw, LowerLaw}) {
    const auto loud = law({10, 1000}, 0.02, 1e-12, {});
    EXPECT_EQ(loud.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(loud.status().message()), HasSubstr("noise multiplier 0.001"));
    Limits limits;
    limits.cancelled = [] { return true; };
    EXPECT_EQ(law({10, 1}, 0.02, 1e-12, limits).status().code(), absl::StatusCode::kCancelled);
  }
}

}  // namespace
}  // namespace dpledger::accountant::allocation
