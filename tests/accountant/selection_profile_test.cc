// The cost of a selection through the privacy profile, against selections whose profile is known:
// one run is a pair of distributions on a line, results are ordered in ways for which everything
// has a closed form or one integral.
#include "accountant/selection/selection_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "accountant/mechanism/trials.h"
#include "accountant/numeric/normal.h"
#include "accountant/selection/run_profile.h"

namespace dpledger::accountant {
namespace {

using selection::RunProfile;
using selection::SelectionProfile;

// One Gaussian step: t is N(0, 1) without the record, (1-q) N(0, 1) + q N(1/z, 1) with it.
struct OneStep {
  double q, z;

  Composition composition() const {
    Composition one;
    one.steps.push_back({q, {z, z}, 1});
    return one;
  }
  // Tails and densities of the distribution that is asked about (remove: with the record) and of
  // the other one.
  double Tail(bool with, double t) const {
    return with ? (1 - q) * NormalTail(t) + q * NormalTail(t - 1 / z) : NormalTail(t);
  }
  double Density(bool with, double t) const {
    return with ? (1 - q) * NormalDensity(t) + q * NormalDensity(t - 1 / z) : NormalDensity(t);
  }
};

// P(K = k), k = 1, 2, ..., from the definitions of the distributions.
std::vector<double> NegativeBinomialMass(double eta, double mean) {
  const double gamma = std::exp(-LogInverseGamma(eta, mean));
  std::vector<double> mass;
  double next = eta == 0 ? (1 - gamma) / std::log(1 / gamma)
                         : eta * (1 - gamma) / (std::pow(gamma, -eta) - 1);
  for (int k = 1; k < 4000 && next > 1e-12; ++k) {
    mass.push_back(next);
    next *= (1 - gamma) * (k + eta) / (k + 1);
  }
  return mass;
}
std::vector<double> BinomialMass(int n, double p) {
  std::vector<double> mass;
  for (int k = 1; k <= n; ++k) {
    mass.push_back(std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) +
                            k * std::log(p) + (n - k) * std::log1p(-p)));
  }
  return mass;
}
std::vector<double> PoissonMass(double mean) {
  std::vector<double> mass;
  for (int k = 1; k < 200; ++k) {
    mass.push_back(std::exp(k * std::log(mean) - mean - std::lgamma(k + 1.0)));
  }
  return mass;
}

// P(some result, and none in a set of probability `behind`) and its derivative.
double Generating(const std::vector<double>& mass, double y) {
  double sum = 0;
  for (size_t k = mass.size(); k > 0; --k) sum = sum * y + mass[k - 1];
  return sum * y;
}
double GeneratingSlope(const std::vector<double>& mass, double y) {
  double sum = 0;
  for (size_t k = mass.size(); k > 0; --k) sum = sum * y + static_cast<double>(k) * mass[k - 1];
  return sum;
}

struct Law {
  TrialLaw law;
  std::vector<double> mass;
};
std::vector<Law> Laws() {
  return {{TrialLaw::NegativeBinomial(0, 5), NegativeBinomialMass(0, 5)},
          {TrialLaw::NegativeBinomial(1, 12), NegativeBinomialMass(1, 12)},
          {TrialLaw::NegativeBinomial(-0.5, 4), NegativeBinomialMass(-0.5, 4)},
          {TrialLaw::NegativeBinomial(2, 6), NegativeBinomialMass(2, 6)},
          {TrialLaw::Poisson(6), PoissonMass(6)},
          {TrialLaw::Binomial(10, 0.5), BinomialMass(10, 0.5)},
          {TrialLaw::Binomial(4, 1), {0, 0, 0, 1}}};
}

std::vector<OneStep> Runs() { return {{1, 3.3}, {1, 1}, {1, 0.5}, {0.1, 1}}; }

TEST(TrialLaw, WeightIsTheSlopeOfTheGeneratingFunction) {
  for (const Law& law : Laws()) {
    for (const double x : {0.0, 1e-6, 0.01, 0.3, 0.5, 0.8, 0.999}) {
      const double truth = GeneratingSlope(law.mass, 1 - x);
      const auto at = Share::At(x);
      EXPECT_NEAR(law.law.WeightUp(at) / truth, 1, 1e-7) << x;  // the masses end early
      EXPECT_LE(law.law.WeightDown(at), law.law.WeightUp(at));
      for (const double width : {at.rest / 1000, at.rest / 2, at.rest}) {
        const double selected =
            Generating(law.mass, 1 - x) - Generating(law.mass, std::fmax(0, at.rest - width));
        const TrialLaw::Bounded log_selected = law.law.LogSelected(at, width);
        EXPECT_NEAR(std::exp(log_selected.value) / selected, 1, 1e-7) << x << " " << width;
        EXPECT_LT(log_selected.error, 1e-11) << x << " " << width;
      }
      const double nearby = GeneratingSlope(law.mass, 1 - x - 1e-6);
      EXPECT_NEAR(law.law.Decay(Share::At(x + 5e-7)), std::log(truth / nearby) / 1e-6,
                  1e-4 * (1 + law.law.Decay(at)))
          << x;
    }
  }
}

TEST(RunProfile, BoundsHoldBetweenItsNodesAndBelowZero) {
  const OneStep run{1, 1.25};
  const Composition composition = run.composition();
  RunProfile profile(composition, 3, 1e-5, {});
  for (double epsilon = -4; epsilon < 8; epsilon += 0.0371) {
    const double truth =
        NormalTail(epsilon * 1.25 - 0.4) - std::exp(epsilon) * NormalTail(epsilon * 1.25 + 0.4);
    EXPECT_GE(profile.Up(Direction::kRemove, epsilon), truth * (1 - 1e-12)) << epsilon;
    EXPECT_LE(profile.Down(Direction::kRemove, epsilon), truth * (1 + 1e-12)) << epsilon;
    if (epsilon > 6) continue;  // far apart there, for tails only
    EXPECT_NEAR(profile.Up(Direction::kRemove, epsilon) / truth, 1, 0.01) << epsilon;
    EXPECT_NEAR(profile.Down(Direction::kRemove, epsilon) / truth, 1, 0.02) << epsilon;
  }
}

// δ of the selection when a result is better the larger (or the smaller) `sign`·t is, by Simpson's
// rule.
double DeltaOrderedByT(const OneStep& run, const std::vector<double>& mass, bool with, double sign,
                       double epsilon) {
  const auto integrand = [&](double t) {
    const double x = sign > 0 ? run.Tail(with, t) : 1 - run.Tail(with, t);
    const double other = sign > 0 ? run.Tail(!with, t) : 1 - run.Tail(!with, t);
    return std::fmax(
        0, GeneratingSlope(mass, 1 - x) * run.Density(with, t) -
               std::exp(epsilon) * GeneratingSlope(mass, 1 - other) * run.Density(!with, t));
  };
  const int cells = 300;
  const double from = -9, to = 9 + 1 / run.z, step = (to - from) / cells;
  double sum = 0;
  for (int i = 0; i < cells; ++i) {
    const double t = from + step * i;
    sum += step / 6 * (integrand(t) + 4 * integrand(t + step / 2) + integrand(t + step));
  }
  return sum;
}

// The best are those with t on one side of `first`, then come those beyond `second` on the other
// side: the probability of selecting one of the latter, with and without the record.
double DeltaOfTwoEnds(const OneStep& run, const std::vector<double>& mass, bool with, double first,
                      double second, double epsilon) {
  const auto selected = [&](bool record) {
    // With the record large t are likelier: for remove the second set is t > second.
    const double before = with ? 1 - run.Tail(record, first) : run.Tail(record, first);
    const double in = with ? run.Tail(record, second) : 1 - run.Tail(record, second);
    return Generating(mass, 1 - before) - Generating(mass, 1 - before - in);
  };
  return selected(with) - std::exp(epsilon) * selected(!with);
}
double DeltaOfWorstTwoEnds(const OneStep& run, const std::vector<double>& mass, bool with,
                           double epsilon) {
  double worst = 0;
  for (double first = -4; first < 4; first += 0.25) {
    for (double beyond = 0.1; beyond < 8; beyond += 0.25) {
      const double second = with ? first + beyond : first - beyond;
      worst = std::fmax(worst, DeltaOfTwoEnds(run, mass, with, first, second, epsilon));
    }
  }
  return worst;
}

TEST(SelectionProfile, BoundsContainWhatOrdersOfTheResultsShow) {
  int near = 0, seen = 0;
  for (const OneStep& run : Runs()) {
    const Composition composition = run.composition();
    RunProfile profile(composition, run.q == 1 ? 3 / run.z : 1.5, 1e-5, {});
    for (const Law& law : Laws()) {
      for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
        const bool with = direction == Direction::kRemove;
        SelectionProfile best(law.law, direction, profile, 1e-13);
        for (const double epsilon : {0.3 / run.z, 2 / run.z, 4 / run.z}) {
          const double up = best.DeltaUp(epsilon), down = best.DeltaDown(epsilon);
          if (up < 1e-9) continue;
          const double worst = DeltaOfWorstTwoEnds(run, law.mass, with, epsilon);
          EXPECT_GE(up, worst) << run.q << " " << run.z << " " << epsilon;
          EXPECT_LE(down, worst * 1.1) << run.q << " " << run.z << " " << epsilon;
          for (const double sign : {1.0, -1.0}) {
            const double ordered = DeltaOrderedByT(run, law.mass, with, sign, epsilon);
            EXPECT_GE(up, ordered * (1 - 1e-4)) << run.q << " " << run.z << " " << epsilon;
          }
          ++seen;
          if (worst > 0.6 * up) ++near;
        }
      }
    }
  }
  // The bound is not merely valid.
  EXPECT_GT(seen, 80);
  EXPECT_GT(near, seen / 4);
}

// The control: E[K] times one run's δ, or its profile moved by too little, is exceeded.
TEST(SelectionProfile, ABoundWithoutTheShiftWouldBeCaught) {
  const OneStep run{1, 1};
  const Composition composition = run.composition();
  RunProfile profile(composition, 3, 1e-5, {});
  const std::vector<double> mass = NegativeBinomialMass(1, 12);
  const SelectionProfile best(TrialLaw::NegativeBinomial(1, 12), Direction::kRemove, profile,
                              1e-13);
  const double worst = DeltaOfWorstTwoEnds(run, mass, true, 5);
  EXPECT_GT(worst, 12 * profile.Up(Direction::kRemove, 5));
  EXPECT_GT(worst, 12 * profile.Up(Direction::kRemove, 5 - 0.5 * best.greatest_shift()));
  // The largest shift with all of E[K], which is what a single supremum over x gives.
  EXPECT_LT(best.DeltaUp(5), 0.7 * 12 * profile.Up(Direction::kRemove, 5 - best.greatest_shift()));
}

}  // namespace
}  // namespace dpledger::accountant
