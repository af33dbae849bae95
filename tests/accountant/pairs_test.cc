// Every pair's mass and profile against the mechanism's own closed form, by plain quadrature.
#include "accountant/pair/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "accountant/gaussian/gaussian.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pair/sampling.h"
#include "accountant/pld/pld.h"

namespace dpledger::accountant {
namespace {

using Noise = TwoCandidates::Noise;

// Simpson's rule on a smooth integrand, ends cut where a standard normal has nothing left.
double Integral(const std::function<double(double)>& f, double from, double to) {
  from = std::fmax(from, -60);
  to = std::fmin(to, 90);
  constexpr int kPanels = 60000;
  const double h = (to - from) / kPanels;
  double sum = f(from) + f(to);
  for (int i = 1; i < kPanels; ++i) sum += f(from + i * h) * (i % 2 == 1 ? 4 : 2);
  return sum * h / 3;
}

double Density(const DensityPiece& piece, const std::vector<ExponentialTerm>& terms, double t) {
  double sum = 0;
  for (const ExponentialTerm& term : terms) {
    sum += std::exp(piece.constant + piece.linear * t + piece.quadratic * t * t +
                    term.log_coefficient + term.rate * t);
  }
  return sum;
}

// ∫ (p - e^ε q)_+ for remove, ∫ (q - e^ε p)_+ for add.
double Profile(const Pair& pair, double epsilon, bool add) {
  const auto positive = [&](double p, double q) {
    return std::fmax(0, add ? q - std::exp(epsilon) * p : p - std::exp(epsilon) * q);
  };
  double sum = 0;
  for (const Atom& atom : pair.atoms) sum += positive(atom.p, atom.q);
  for (const DensityPiece& piece : pair.pieces) {
    sum += Integral(
        [&](double t) { return positive(Density(piece, piece.p, t), Density(piece, piece.q, t)); },
        piece.from, piece.to);
  }
  return sum;
}

double Phi(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }
double GaussianProfile(double mu, double epsilon) {
  return Phi(mu / 2 - epsilon / mu) - std::exp(epsilon) * Phi(-mu / 2 - epsilon / mu);
}

struct Case {
  std::string name;
  Pair pair;
  std::function<double(double)> remove;  // its profile; of add too where the pair is symmetric
};

std::vector<Case> Cases() {
  const auto pure = [](double e0) {
    return
        [e0](double e) { return std::fmax(0, (std::exp(e0) - std::exp(e)) / (1 + std::exp(e0))); };
  };
  const auto laplace = [](double d) {
    return [d](double e) { return e < d ? -std::expm1((e - d) / 2) : 0; };
  };
  const auto sampled = [](double q, const std::function<double(double)>& base) {
    // Li, Qardaji, Su 2012: e^ε' = 1 + q(e^ε - 1), δ' = qδ.
    return [q, base](double e) { return q * base(std::log1p(std::expm1(e) / q)); };
  };
  const auto gaussian = [](double mu) { return [mu](double e) { return GaussianProfile(mu, e); }; };
  const double a = 0.3;
  const auto discrete_laplace = [a](double e) {
    double sum = 0;
    for (int k = -400; k <= 400; ++k) {
      sum += std::tanh(a / 2) *
             std::fmax(0, std::exp(-a * std::abs(k - 4)) - std::exp(e - a * std::abs(k)));
    }
    return sum;
  };
  // Canonne, Kamath, Steinke 2020, thm. 7: Pr[Y > εσ²/Δ - Δ/2] - e^ε Pr[Y > εσ²/Δ + Δ/2].
  const double sigma = 1.7, shift = 2;
  const auto discrete_gaussian = [=](double e) {
    double total = 0, first = 0, second = 0;
    for (int k = -100; k <= 100; ++k) {
      const double weight = std::exp(-k * k / (2 * sigma * sigma));
      total += weight;
      if (k > e * sigma * sigma / shift - shift / 2) first += weight;
      if (k > e * sigma * sigma / shift + shift / 2) second += weight;
    }
    return (first - std::exp(e) * second) / total;
  };
  // sup over t of the two-point mechanisms with losses t and t - ε.
  const auto bounded_range = [](double e) {
    double most = 0;
    for (double t = 0; t <= 2; t += 1e-4) {
      const double p = (std::exp(2.0) - std::exp(t)) / std::expm1(2.0);
      most = std::fmax(most, p * -std::expm1(e - t));
    }
    return most;
  };
  const auto with_replacement = [](double e) {  // Balle, Barthe, Gaboardi 2018, thm. 10
    const double n = 10, m = 4, some = 1 - std::pow(1 - 1 / n, m);
    const double inner = std::log1p(std::expm1(e) / some);
    double sum = 0, choose = 1;
    for (double k = 1; k <= m; ++k) {
      choose *= (m - k + 1) / k;
      sum += choose * std::pow(1 / n, k) * std::pow(1 - 1 / n, m - k) *
             GaussianProfile(k * 0.8, inner);
    }
    return sum;
  };
  const auto response = [](double e) {  // p = .4, 3 answers
    const double other = 0.4 / 3, own = 0.6 + other;
    return std::fmax(0, own - std::exp(e) * other);
  };
  return {
      {"Laplace", LaplacePair(1.3, Bound::kUpper), laplace(1.3)},
      {"discrete Laplace", DiscreteLaplacePair(a, 4, Bound::kUpper), discrete_laplace},
      {"discrete Gaussian", DiscreteGaussianPair(sigma, 2, Bound::kUpper), discrete_gaussian},
      {"randomized response", RandomizedResponsePair(0.4, 3), response},
      {"pure", EpsilonDeltaPair(1.1, 0, Bound::kUpper), pure(1.1)},
      {"bounded range", BoundedRangePair(2), bounded_range},
      {"noisy max", NoisyMaxPair(1.3), laplace(1.3)},
      {"two candidates, alike", PairOf({Noise::kExponential, 1.3}, 0.65),
       pure(std::log(2 * std::exp(0.65) - 1))},
      {"Gaussian", SampledGaussianPair(1, 1.5), gaussian(1.5)},
      {"sampled Gaussian", SampledGaussianPair(0.2, 1.5), sampled(0.2, gaussian(1.5))},
      {"sampled Laplace", PoissonSampledPair(0.2, LaplacePair(1.3, Bound::kUpper)),
       sampled(0.2, laplace(1.3))},
      {"without replacement", WithoutReplacementPair(0.2, 1.5), sampled(0.2, gaussian(1.5))},
      {"with replacement", WithReplacementPair(10, 4, 0.8, Bound::kUpper), with_replacement},
      {"mixture of one", MixturePair({0, 1.5}, {0.8, 0.2}, 0, Bound::kUpper),
       sampled(0.2, gaussian(1.5))},
      {"group of one", GroupSampledGaussianPair(1, 0.2, 1.5, Bound::kUpper),
       sampled(0.2, gaussian(1.5))},
      // A sample that is always full: 3 of 4 records, of which 2 stay.
      {"truncated, never full",
       TruncatedPoissonPair(5, 0.2, 5, 1.5, Neighbour::kAbsent, Bound::kUpper),
       sampled(0.2, gaussian(1.5))},
  };
}

TEST(Pairs, HaveTheProfileOfTheirMechanism) {
  for (const Case& c : Cases()) {
    for (const double epsilon : {0.0, 0.1, 0.5, 1.0, 1.25, 1.9, 3.0}) {
      const double expected = c.remove(epsilon);
      EXPECT_NEAR(Profile(c.pair, epsilon, false), expected, 2e-7) << c.name << " " << epsilon;
      if (c.pair.symmetric) {
        EXPECT_NEAR(Profile(c.pair, epsilon, true), expected, 2e-7) << c.name << " " << epsilon;
      }
    }
  }
}

// One run of each, discretised, composed and read again. (Inverting the loss of an opposed pair
// once stopped halfway between two of its ends, and the mass of a cell came out a hundredfold.)
TEST(Pairs, KeepTheirProfileThroughTheEngine) {
  std::vector<Case> cases = Cases();
  cases.push_back({"opposed", OpposedGaussianPair(0.1, 1, 1), {}});
  cases.push_back({"opposed, uneven", OpposedGaussianPair(0.3, 2, 0.5), {}});
  cases.push_back(
      {"truncated", TruncatedPoissonPair(9, 0.5, 4, 1, Neighbour::kNull, Bound::kUpper), {}});
  cases.push_back({"group", GroupSampledGaussianPair(12, 0.1, 0.5, Bound::kUpper), {}});
  cases.push_back({"zeroed", ZeroedWithoutReplacementPair(0.2, 1.5, Bound::kUpper), {}});
  cases.push_back({"zeroed, lower", ZeroedWithoutReplacementPair(0.2, 1.5, Bound::kLower), {}});
  for (const Case& c : cases) {
    Composition composition;
    composition.pairs.push_back({c.pair, c.pair, std::nullopt, 1});
    for (const double epsilon : {0.1, 0.5, 1.25}) {
      const double expected =
          std::fmax(Profile(c.pair, epsilon, false), Profile(c.pair, epsilon, true));
      const auto delta = pld::Delta(composition, epsilon, 1e-3, {});
      ASSERT_TRUE(delta.ok()) << c.name << delta.status();
      EXPECT_LE(delta->value.lower(), expected + 2e-7) << c.name << " " << epsilon;
      EXPECT_GE(delta->value.upper(), expected - 2e-7) << c.name << " " << epsilon;
      EXPECT_LE(delta->value.upper() - delta->value.lower(), 2e-3 * expected + 1e-12)
          << c.name << " " << epsilon;
    }
  }
}

// Outcomes whose P-mass underflows have a Q-mass that once went missing: "add" was answered 2 below
// the truth.
TEST(Pairs, KeepTheQMassWhereThePMassUnderflows) {
  const struct {
    double z, delta;
  } cases[] = {{0.04, 1e-40}, {0.0424, 1e-50}, {0.045, 1e-70},
               {0.05, 1e-80}, {0.06, 1e-100},  {0.08, 1e-150}};
  for (const auto& c : cases) {
    Composition composition;
    composition.steps.push_back({1, {c.z, c.z}, 1});
    const auto add = pld::Epsilon(composition, c.delta, 1e-3, {}, Direction::kAdd);
    ASSERT_TRUE(add.ok()) << add.status();
    EXPECT_GE(add->value.upper(), gaussian::Epsilon(composition, c.delta).lower()) << c.z;
  }
}

// Losses beyond doubles were once left off the grid, and cost nothing.
TEST(Pairs, BeyondTheLossGridAreNotForgotten) {
  for (const double distance : {100.0, 1e3, 1e100}) {
    for (const double q : {0.1, 1.0}) {
      Composition composition;
      const Pair pair = SampledGaussianPair(q, distance);
      composition.pairs.push_back({pair, pair, std::nullopt, 1});
      composition.pairs.push_back(
          {LaplacePair(1, Bound::kUpper), LaplacePair(1, Bound::kLower), std::nullopt, 3});
      const auto epsilon = pld::Epsilon(composition, 1e-6, 1e-3, {});
      if (!epsilon.ok()) {
        EXPECT_EQ(epsilon.status().code(), absl::StatusCode::kResourceExhausted);
        continue;
      }
      // One record's contribution is seen with probability q, from far away.
      EXPECT_GE(epsilon->value.upper(), q < 1 ? 100 : distance * distance / 2)
          << distance << " " << q;
    }
  }
}

// The control: one per cent more distance is seen.
TEST(Pairs, ProfilesShowAWrongDistance) {
  EXPECT_GT(std::fabs(Profile(LaplacePair(1.313, Bound::kUpper), 0.5, false) + std::expm1(-0.4)),
            1e-4);
}

double Mass(const Pair& pair, bool q) {
  double sum = 0;
  for (const Atom& atom : pair.atoms) sum += q ? atom.q : atom.p;
  for (const DensityPiece& piece : pair.pieces) {
    sum += Integral([&](double t) { return Density(piece, q ? piece.q : piece.p, t); }, piece.from,
                    piece.to);
  }
  return sum;
}

TEST(Pairs, HaveMassOneOnBothSides) {
  std::vector<Case> cases = Cases();
  const auto add = [&](std::string name, Pair pair) { cases.push_back({name, pair, {}}); };
  add("everything", Everything());
  add("nothing", Pair::Nothing());
  add("(1, .01)", EpsilonDeltaPair(1, 0.01, Bound::kUpper));
  add("against uniform", RandomizedResponseAgainstUniform(0.3, 7));
  add("opposed", OpposedGaussianPair(0.3, 1, 2));
  add("sampled everything", PoissonSampledPair(0.3, Everything()));
  add("discrete Gaussian, lower", DiscreteGaussianPair(0.05, 1, Bound::kLower));
  add("truncated", TruncatedPoissonPair(9, 0.5, 4, 1, Neighbour::kNull, Bound::kUpper));
  add("truncated, other", TruncatedPoissonPair(9, 0.5, 4, 1, Neighbour::kOther, Bound::kUpper));
  add("group", GroupSampledGaussianPair(12, 0.1, 0.5, Bound::kUpper));
  add("with replacement, lower", WithReplacementPair(3, 7, 0.5, Bound::kLower));
  add("zeroed", ZeroedWithoutReplacementPair(0.2, 1.5, Bound::kUpper));
  add("zeroed, lower", ZeroedWithoutReplacementPair(0.2, 1.5, Bound::kLower));
  add("many draws", WithReplacementPair(2, 4000, 1e-3, Bound::kUpper));
  for (const Case& c : cases) {
    EXPECT_NEAR(Mass(c.pair, false), 1, 1e-7) << c.name;
    EXPECT_NEAR(Mass(c.pair, true), 1, 1e-7) << c.name;
  }
}

// A record that is drawn very often: copies beyond the table once counted as nothing, and none at
// all with a chance that was off by parts in 10^8.
TEST(Pairs, CopiesKeepTheirChances) {
  const double draws = 805000, share = 1e-3;
  double rest = 0;
  for (double k = 1025; k < 2000; ++k) {
    rest += std::exp(std::lgamma(draws + 1) - std::lgamma(k + 1) - std::lgamma(draws - k + 1) +
                     k * std::log(share) + (draws - k) * std::log1p(-share));
  }
  const Pair many = GroupSampledGaussianPair(805000, share, 0.01, Bound::kUpper);
  ASSERT_EQ(many.atoms.size(), 1u);
  EXPECT_EQ(many.atoms[0].q, 0);
  EXPECT_GE(many.atoms[0].p, rest * (1 - 1e-8));
  const Pair few = GroupSampledGaussianPair(300000000, 1e-9, 0.01, Bound::kLower);
  const double none = std::exp(300000000 * std::log1p(-1e-9));
  EXPECT_NEAR(std::exp(few.pieces[0].p.back().log_coefficient) / none, 1, 1e-11);
}

// Beyond what doubles hold, a lower pair shows much and never more than its mechanism: a loss of
// more than 580, nearly surely or in half of all outcomes.
TEST(Pairs, LowerPairsOfGreatDistanceShowMuch) {
  const auto expect = [](const std::string& name, const Pair& pair, double least_at_580) {
    for (const bool add : {false, true}) {
      EXPECT_GE(Profile(pair, 580, add), least_at_580) << name;
      EXPECT_LE(Profile(pair, 580, add), 1) << name;
      EXPECT_EQ(Profile(pair, 605, add), 0) << name;
    }
  };
  for (const double distance : {601.0, 1e5})
    expect("Laplace", LaplacePair(distance, Bound::kLower), 0.49);  // beyond the other centre
  expect("discrete Laplace", DiscreteLaplacePair(7, 1000, Bound::kLower), 0.9);
  expect("discrete Laplace, little noise", DiscreteLaplacePair(700, 3, Bound::kLower), 0.99);
  for (const double sigma : {1e-3, 0.01, 0.025})
    expect("discrete Gaussian", DiscreteGaussianPair(sigma, 1, Bound::kLower), 0.99);
  // With outcomes between the sides that show nothing, or less than 600.
  expect("discrete Gaussian", DiscreteGaussianPair(0.05, 2, Bound::kLower), 0.99);
  expect("discrete Gaussian", DiscreteGaussianPair(0.2, 8, Bound::kLower), 0.99);
  expect("discrete Gaussian", DiscreteGaussianPair(0.5, 40, Bound::kLower), 0.99);
  // Where more is known, more is shown.
  EXPECT_EQ(Profile(LaplacePair(601, Bound::kUpper), 605, false), 1);
}

// mechanism/CLAIM.md, section 3, binomial sums written out. No data set of few records needs all of
// the distances in a full sample, so that none shows one that is too small.
TEST(Pairs, ATruncatedSampleHasTheDistancesOfTheClaim) {
  constexpr int kMost = 4, kRecords = 9;
  constexpr double kQ = 0.5, kDistance = 0.7;
  const auto tail = [](int n, int least) {  // Pr[Bin(n, q) >= least]
    double sum = 0;
    for (int k = least; k <= n; ++k) {
      double term = std::pow(kQ, k) * std::pow(1 - kQ, n - k);
      for (int i = 0; i < k; ++i) term *= static_cast<double>(n - i) / (k - i);
      sum += term;
    }
    return sum;
  };
  const double full = tail(kRecords - 1, kMost);
  const double joins = kMost * tail(kRecords, kMost + 1) / (kRecords * full);
  const auto one = [](double q, double with, double against) {
    return against == 0 ? SampledGaussianPair(q, with) : OpposedGaussianPair(q, with, against);
  };
  const struct {
    Neighbour neighbour;
    double against, against_in_full;
  } cases[] = {{Neighbour::kAbsent, 0, 0},
               {Neighbour::kNull, 0, kDistance},
               {Neighbour::kOther, kDistance, 2 * kDistance}};
  for (const auto& c : cases) {
    const Pair pair =
        TruncatedPoissonPair(kRecords, kQ, kMost, kDistance, c.neighbour, Bound::kUpper);
    for (const double epsilon : {0.0, 0.2, 0.7}) {
      for (const bool add : {false, true}) {
        const double expected =
            (1 - full) * Profile(one(kQ, kDistance, c.against), epsilon, add) +
            full * Profile(one(joins, 2 * kDistance, c.against_in_full), epsilon, add);
        EXPECT_NEAR(Profile(pair, epsilon, add), expected, 1e-6) << epsilon << " " << add;
      }
    }
  }
}

TEST(Pairs, LossesDoNotFallWithinAPiece) {
  for (const Case& c : Cases()) {
    for (const DensityPiece& piece : c.pair.pieces) {
      double before = piece.Loss(piece.from);
      for (double t = std::fmax(piece.from, -20); t <= std::fmin(piece.to, 20); t += 0.01) {
        EXPECT_LE(before, piece.Loss(t) + 1e-14) << c.name;
        before = piece.Loss(t);
      }
      EXPECT_LE(before, piece.Loss(piece.to)) << c.name;
    }
  }
}

// The chances of the first candidate by integrals over the second one's noise.
TEST(TwoCandidates, ChancesAreTheIntegralsOfTheirNoises) {
  struct Law {
    Noise noise;
    double (*density)(double);
    double (*above)(double);
  };
  const Law laws[] = {
      {Noise::kGumbel, [](double x) { return std::exp(-x - std::exp(-x)); },
       [](double x) { return -std::expm1(-std::exp(-x)); }},
      {Noise::kExponential, [](double x) { return x < 0 ? 0 : std::exp(-x); },
       [](double x) { return x < 0 ? 1 : std::exp(-x); }},
  };
  for (const auto& [noise, density, above] : laws) {
    for (const double behind : {-2.5, 0.0, 0.4, 3.0}) {
      const Pair pair = PairOf({noise, 1.5}, behind);
      ASSERT_EQ(pair.atoms.size(), 2u);
      double p = 0, q = 0;
      constexpr double kStep = 1e-4;
      for (double x = -40 + kStep / 2; x < 40; x += kStep) {
        p += kStep * density(x) * above(x + behind - 1.5);
        q += kStep * density(x) * above(x + behind);
      }
      EXPECT_NEAR(pair.atoms[0].p, p, 1e-6);
      EXPECT_NEAR(pair.atoms[0].q, q, 1e-6);
      EXPECT_NEAR(pair.atoms[1].p, 1 - p, 1e-6);
      EXPECT_NEAR(pair.atoms[1].q, 1 - q, 1e-6);
    }
  }
}

// Of many candidates, half of them behind: their greatest scores are as far apart as two with
// Gumbel noise.
TEST(TwoCandidates, LaplaceNoiseOnManyComesToGumbelNoise) {
  constexpr double kHalf = 1e5, kStep = 1e-3;
  const auto log_below = [](double x) {
    return kHalf * (x < 0 ? x - std::log(2) : std::log1p(-std::exp(-x) / 2));
  };
  for (const double behind : {-1.5, 0.3, 2.0}) {
    double q = 0;
    for (double x = 0; x < 40; x += kStep) {
      const double rise = std::exp(log_below(x + kStep)) - std::exp(log_below(x));
      q += rise * std::exp(log_below(x + kStep / 2 - behind));
    }
    EXPECT_NEAR(PairOf({Noise::kGumbel, 1}, behind).atoms[0].q, q, 1e-4);
  }
}

TEST(TwoCandidates, NoOtherStartTellsMore) {
  const auto moment = [](const Pair& pair, double order) {
    double sum = 0;
    for (const Atom& atom : pair.atoms)
      sum += std::pow(atom.p, order) * std::pow(atom.q, 1 - order);
    return sum;
  };
  for (const Noise noise : {Noise::kGumbel, Noise::kExponential}) {
    for (const double epsilon : {0.01, 0.5, 3.0, 20.0}) {
      for (const double order : {1.01, 2.0, 15.0}) {
        for (const double sampled : {1.0, 0.1}) {
          const TwoCandidates choice{noise, epsilon, sampled};
          const double most = moment(PairOf(choice, MostTelling(choice, order)), order);
          for (double behind = -epsilon - 5; behind < 2 * epsilon + 5; behind += 0.05)
            EXPECT_LE(moment(PairOf(choice, behind), order), most * (1 + 1e-6)) << epsilon;
        }
      }
    }
  }
  EXPECT_EQ(MostTelling({Noise::kGumbel, 3}, 0), 1.5);
  EXPECT_EQ(PairOf({Noise::kGumbel, 601}, 300), Pair::Nothing());
}

// Lower pairs are at most as revealing as upper ones, in both directions.
TEST(Pairs, LowerIsBelowUpper) {
  const auto check = [](const std::string& name, const Pair& lower, const Pair& upper) {
    for (const double epsilon : {0.0, 0.2, 0.7, 1.5}) {
      for (const bool add : {false, true}) {
        EXPECT_LE(Profile(lower, epsilon, add), Profile(upper, epsilon, add) + 2e-7)
            << name << " " << epsilon << " " << add;
      }
    }
  };
  for (const double behind : {-0.7, 1.0, 2.2, 4.1}) {
    check("bounded range", PairOf({Noise::kGumbel, 2}, behind), BoundedRangePair(2));
    check("noisy max", PairOf({Noise::kExponential, 2}, behind), NoisyMaxPair(2));
    check("Laplace max", PairOf({Noise::kGumbel, 2}, behind), NoisyMaxPair(2));
  }
  check("without replacement", SampledGaussianPair(0.3, 1), WithoutReplacementPair(0.3, 1));
  check("zeroed", ZeroedWithoutReplacementPair(0.3, 1, Bound::kLower),
        ZeroedWithoutReplacementPair(0.3, 1, Bound::kUpper));
  check("with replacement", WithReplacementPair(10, 4, 0.8, Bound::kLower),
        WithReplacementPair(10, 4, 0.8, Bound::kUpper));
  for (const Neighbour neighbour : {Neighbour::kAbsent, Neighbour::kNull, Neighbour::kOther}) {
    check("truncated", TruncatedPoissonPair(9, 0.5, 4, 1, neighbour, Bound::kLower),
          TruncatedPoissonPair(9, 0.5, 4, 1, neighbour, Bound::kUpper));
  }
  check("group", GroupSampledGaussianPair(5, 0.3, 1, Bound::kLower),
        GroupSampledGaussianPair(5, 0.3, 1, Bound::kUpper));
}

// The chance of each score to be the greatest, with noise of scale 1/rate: by the midpoint rule.
std::vector<double> Winners(const std::vector<double>& scores, double rate, bool two_sided) {
  const auto law = [&](double x) {
    if (!two_sided) return x < 0 ? 0 : -std::expm1(-rate * x);
    return x < 0 ? std::exp(rate * x) / 2 : 1 - std::exp(-rate * x) / 2;
  };
  constexpr double kCell = 0.01;
  std::vector<double> chances(scores.size(), 0);
  for (double x = -40; x < 40; x += kCell) {
    for (size_t i = 0; i < scores.size(); ++i) {
      double mass = law(x + kCell - scores[i]) - law(x - scores[i]);
      for (size_t j = 0; j < scores.size(); ++j) {
        if (j != i) mass *= law(x + kCell / 2 - scores[j]);
      }
      chances[i] += mass;
    }
  }
  return chances;
}

// Noisy maxima of up to four scores, each of which moves by up to one, stay below the pair, whose
// profile two scores reach. (They do not stay below that of bounded range.)
TEST(Pairs, NoisyMaximaAreBelowTheirPair) {
  constexpr double kEpsilon = 1.4;
  const Pair pair = NoisyMaxPair(kEpsilon);
  const Pair range = BoundedRangePair(kEpsilon);
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> gap(0, 3), within(-1, 1);
  double nearest = 0;
  bool above_range = false;
  for (int i = 0; i < 240; ++i) {
    const bool two_sided = i % 3 == 2;
    std::vector<double> scores(2 + i % 4 % 3), moved;
    for (double& score : scores) score = gap(random);
    for (const double score : scores) {
      const double by = within(random);
      moved.push_back(score + (i % 2 == 0 ? std::copysign(1, by) : by));
    }
    const auto p = Winners(scores, kEpsilon / 2, two_sided);
    const auto q = Winners(moved, kEpsilon / 2, two_sided);
    for (const double epsilon : {0.0, 0.4, 1.0}) {
      double delta = 0;
      for (size_t k = 0; k < p.size(); ++k) {
        delta += std::fmax(0, p[k] - std::exp(epsilon) * q[k]);
      }
      const double bound =
          -std::expm1((epsilon - kEpsilon) / 2);  // Cases() compares it with the pair's
      EXPECT_LE(delta, bound + 2e-5) << i << " " << epsilon;
      nearest = std::fmax(nearest, delta / bound);
      if (epsilon == 0.4 && !above_range)
        above_range = delta > Profile(range, epsilon, false) + 1e-3;
    }
  }
  EXPECT_GT(nearest, 0.99);
  EXPECT_TRUE(above_range);
}

// The claim's comparison: among contributions of norm at most one, opposite ones are told apart
// best.
TEST(Pairs, OpposedContributionsAreTheWorst) {
  const Pair worst = OpposedGaussianPair(0.3, 1, 1);
  for (const double cosine : {-0.9, 0.0, 0.7}) {
    for (const double epsilon : {0.0, 0.3, 0.8}) {
      // (1-q)N(0) + qN(v) against (1-q)N(0) + qN(v') in the plane, |v| = |v'| = 1.
      const double vx = 1, wx = cosine, wy = std::sqrt(1 - cosine * cosine);
      double delta = 0;
      for (double x = -8; x <= 8; x += 0.02) {
        for (double y = -8; y <= 8; y += 0.02) {
          const double at = std::exp(-(x * x + y * y) / 2) / (2 * M_PI) * 0.0004;
          const double p = 0.7 + 0.3 * std::exp(vx * x - 0.5);
          const double q = 0.7 + 0.3 * std::exp(wx * x + wy * y - 0.5);
          delta += at * std::fmax(0, p - std::exp(epsilon) * q);
        }
      }
      EXPECT_LT(delta, Profile(worst, epsilon, false)) << cosine << " " << epsilon;
    }
  }
}

TEST(Pairs, BeyondDoublesEverythingIsSaidOrLess) {
  EXPECT_EQ(LaplacePair(1e3, Bound::kUpper), Everything());
  EXPECT_EQ(LaplacePair(1e3, Bound::kLower), LaplacePair(600, Bound::kLower));
  EXPECT_EQ(EpsilonDeltaPair(1e300, 0, Bound::kUpper), Everything());
  EXPECT_EQ(DiscreteLaplacePair(1e300, 1, Bound::kLower),
            DiscreteLaplacePair(600, 1, Bound::kLower));
}

}  // namespace
}  // namespace dpledger::accountant
