// Profile outputs against closed forms and against the certified values of each direction.
#include "accountant/profile/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "accountant/accountant.h"
#include "accountant/mechanism/history.h"
#include "accountant/profile/many_deltas.h"
#include "accountant/profile/trade_off.h"
#include "tests/accountant/reference_steps.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant {
namespace {

using ::dpledger::testing::ListAt;
using ::dpledger::testing::NumberAt;
using ::dpledger::testing::ReadJsonFile;
using ::dpledger::testing::StringAt;

// ---- One direction alone ----

TEST(OneDirection, EpsilonContainsTheCertifiedValueOfThatDirection) {
  const auto certified = ReadJsonFile("tests/data/certified_epsilon.json");
  int add = 0, remove = 0;
  for (const auto& value : ListAt(certified, "cases")) {
    const auto& c = value.struct_value();
    if (StringAt(c, "direction") == "both") continue;
    const Direction direction =
        StringAt(c, "direction") == "add" ? Direction::kAdd : Direction::kRemove;
    ++(direction == Direction::kAdd ? add : remove);
    const double truth = NumberAt(c, "epsilon");
    const double slack = truth * NumberAt(c, "relative_uncertainty");
    const auto found = ComputeEpsilon(StepsOf(c), NumberAt(c, "delta"), {}, direction);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_LE(found->value.lower(), truth + slack) << value.DebugString();
    EXPECT_GE(found->value.upper(), truth - slack) << value.DebugString();
    EXPECT_LE(found->value.RelativeGap(), 1e-4) << value.DebugString();
    // δ at that ε, back.
    const auto back = ComputeDelta(StepsOf(c), found->value.upper(), {}, direction);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_LE(back->value.lower(), NumberAt(c, "delta"));
  }
  EXPECT_GE(add, 3);
  EXPECT_GE(remove, 10);
}

TEST(OneDirection, TheWorseOfBothIsTheGuaranteeWithEveryMethod) {
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, 1000});
  for (const Method method : {Method::kBest, Method::kContour, Method::kPld}) {
    const Options options{method, 1e-4, {}};
    const auto remove = ComputeDelta(composition, 1, options, Direction::kRemove);
    const auto add = ComputeDelta(composition, 1, options, Direction::kAdd);
    const auto both = ComputeDelta(composition, 1, options);
    ASSERT_TRUE(remove.ok() && add.ok() && both.ok());
    // Add is the smaller by far here: an answer for the wrong direction would show.
    EXPECT_LT(add->value.upper(), 0.9 * remove->value.lower());
    EXPECT_LE(both->value.lower(), remove->value.upper());
    EXPECT_GE(both->value.upper(), remove->value.lower());
  }
}

TEST(OneDirection, RefusesWhatBothRefuse) {
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, 1000});
  EXPECT_EQ(ComputeDelta(composition, -1, {}, Direction::kAdd).status().message(),
            "epsilon: must be finite and >= 0, got -1");
  EXPECT_EQ(ComputeEpsilon(composition, 1, {}, Direction::kAdd).status().message(),
            "delta: must be in [0, 1), got 1");
}

// ---- Closed forms: one unsampled Gaussian of noise multiplier 1/μ ----

double Phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

Composition Gaussian(double mu) {
  Composition composition;
  composition.steps.push_back({1, {1 / mu, 1 / mu}, 1});
  return composition;
}

// G_μ(α) = Φ(Φ⁻¹(1 - α) - μ), from z = Φ⁻¹(1 - α).
struct GaussianRates {
  double alpha, beta;
};
GaussianRates RatesAt(double mu, double z) { return {Phi(-z), Phi(z - mu)}; }

TEST(TradeOff, OfAGaussianIsTheClosedFormAndNarrow) {
  for (const double mu : {0.05, 0.5, 1.0, 3.0, 8.0}) {
    std::vector<double> alphas;
    std::vector<double> betas;
    for (double z = -4; z <= 6; z += 0.25) {
      const GaussianRates rates = RatesAt(mu, z);
      alphas.push_back(rates.alpha);
      betas.push_back(rates.beta);
    }
    const auto found = profile::ComputeTradeOff(Gaussian(mu), alphas, {});
    ASSERT_TRUE(found.ok()) << found.status();
    for (size_t i = 0; i < alphas.size(); ++i) {
      const profile::ErrorRates& at = found->points[i];
      EXPECT_EQ(at.type_one, alphas[i]);
      for (const Interval& error : {at.remove, at.add, at.symmetric}) {
        // erfc above has a relative error of a few ulp, and α is rounded.
        const double slack = 1e-14 + 1e-13 * betas[i];
        EXPECT_LE(error.lower(), betas[i] + slack) << mu << " " << alphas[i];
        EXPECT_GE(error.upper(), betas[i] - slack) << mu << " " << alphas[i];
        EXPECT_LE(error.upper() - error.lower(), 2e-3 * betas[i] + 1e-12) << mu << " " << alphas[i];
        // The control: the curve of a μ one hundredth larger is outside.
        const double other = Phi(-4 + 0.25 * static_cast<double>(i) - 1.02 * mu);
        if (betas[i] > 1e-9 && betas[i] - other > 5e-3 * betas[i] && mu >= 0.5) {
          EXPECT_LT(other, error.lower()) << mu << " " << alphas[i];
        }
      }
    }
  }
}

TEST(TradeOff, TruePositiveRateAtATenthFalsePositivesIsThePublishedOne) {
  const auto found = profile::ComputeTradeOff(Gaussian(1), {0.1}, {});
  ASSERT_TRUE(found.ok()) << found.status();
  const Interval beta = found->points[0].symmetric;
  EXPECT_TRUE(beta.Contains(1 - 0.389143784)) << beta.lower() << " " << beta.upper();
  EXPECT_LT(beta.upper() - beta.lower(), 1e-3);
}

TEST(TradeOff, DirectionsDifferAndEachIsTheOthersInverse) {
  Composition composition;
  composition.steps.push_back({0.01, {0.6, 0.6}, 200});
  const auto found = profile::ComputeTradeOff(composition, {0.01, 0.2}, {});
  ASSERT_TRUE(found.ok()) << found.status();
  for (const profile::ErrorRates& at : found->points) {
    EXPECT_LE(at.symmetric.lower(), std::fmin(at.remove.upper(), at.add.upper()));
    // T(P, Q) is the inverse of T(Q, P): back from β to α, from either end of β.
    const auto back =
        profile::ComputeTradeOff(composition, {at.remove.lower(), at.remove.upper()}, {});
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_GE(back->points[0].add.upper(), at.type_one * (1 - 1e-9));
    EXPECT_LE(back->points[1].add.lower(), at.type_one * (1 + 1e-9));
    EXPECT_NEAR(back->points[0].add.lower(), at.type_one, 0.01 * at.type_one);
  }
  const profile::ErrorRates& near = found->points[0];
  EXPECT_GT(std::fabs(near.remove.lower() - near.add.lower()), 0.01);
}

TEST(TradeOff, EndsAndExtremesAreHonest) {
  const auto ends = profile::ComputeTradeOff(Gaussian(1), {0, 1, 1e-9}, {});
  ASSERT_TRUE(ends.ok()) << ends.status();
  EXPECT_EQ(ends->points[0].remove.upper(), 1);
  EXPECT_GT(ends->points[0].remove.lower(), 0.999);
  EXPECT_EQ(ends->points[1].remove.upper(), 0);
  EXPECT_TRUE(ends->points[2].add.Contains(Phi(5.997807015007687 - 1)));
  // Nothing was released: an attacker tosses a coin.
  const auto nothing = profile::ComputeTradeOff({}, {0.3}, {});
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_NEAR(nothing->points[0].symmetric.lower(), 0.7, 1e-12);
  EXPECT_NEAR(nothing->points[0].symmetric.upper(), 0.7, 1e-12);
  Composition open;
  open.non_private = true;
  const auto everything = profile::ComputeTradeOff(open, {0, 0.3}, {});
  ASSERT_TRUE(everything.ok()) << everything.status();
  EXPECT_LT(everything->points[0].symmetric.upper(), 1e-300);
  EXPECT_LT(everything->points[1].symmetric.upper(), 1e-300);
}

TEST(TradeOff, AnUpperBoundOnDeltaAloneSaysNothingAgainstTheAttackerBeingWeak) {
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, 1000});
  const auto rdp = profile::ComputeTradeOff(composition, {0.1}, {Method::kRdp, 1e-4, {}});
  const auto best = profile::ComputeTradeOff(composition, {0.1}, {});
  ASSERT_TRUE(rdp.ok() && best.ok());
  EXPECT_NEAR(rdp->points[0].symmetric.upper(), 0.9, 1e-9);
  EXPECT_LT(rdp->points[0].symmetric.lower(), best->points[0].symmetric.lower());
  EXPECT_EQ(rdp->origin.warnings, std::vector<std::string>{"rdp gives no lower bound"});
}

// Two mechanisms of few outcomes, by Neyman and Pearson: their curves have corners, next to which
// the ε that are asked for come to differ in the last digit. The line through two such points fell.
TEST(TradeOff, NextToACornerHoldsTheTruth) {
  constexpr double kEpsilon = 0.15053439093962517, kDelta = 0.001;
  History history;
  history.Add("w", Mechanism{2, EpsilonDelta{kEpsilon, kDelta}});
  const Composition twice = *Resolve(history, Adjacency::kAddOrRemoveOne);
  const double corner = std::exp(-2 * kEpsilon), all = (1 - kDelta) * (1 - kDelta);
  for (const std::vector<double>& alphas : {std::vector{0.9}, {0.1, 0.9}, {0.01, 0.5, 0.9}}) {
    const auto found = profile::ComputeTradeOff(twice, alphas, {});
    ASSERT_TRUE(found.ok()) << found.status();
    const double beta = corner * (all - 0.9);
    EXPECT_GE(found->points.back().symmetric.upper(), beta) << alphas.size();
    EXPECT_LE(found->points.back().symmetric.lower(), beta) << alphas.size();
    EXPECT_LT(found->points.back().symmetric.RelativeGap(), 5e-3) << alphas.size();
  }
}

// A point that comes twice, or as near as doubles are, says no more than once.
TEST(RiskFunction, HoldsTheCurveWherePointsAreAsNearAsDoublesAre) {
  const double mu = 1.5;
  const auto risk_at = [&](double x) {
    const double epsilon = std::log(x);
    const double risk = Phi(epsilon / mu - mu / 2) + x * Phi(-epsilon / mu - mu / 2);
    return profile::RiskPoint{x, {risk * (1 - 1e-9), risk * (1 + 1e-9)}};
  };
  for (const double twice : {0.1, 0.5, 1.0, 2.0, 20.0}) {
    for (const double next : {twice, std::nextafter(twice, 100)}) {
      std::vector<profile::RiskPoint> points;
      for (const double x : {0.05, 0.5, 0.9, 5.0, 15.0}) {
        if (x < twice) points.push_back(risk_at(x));
      }
      points.push_back(risk_at(twice));
      points.push_back(risk_at(next));
      if (twice < 20) points.push_back(risk_at(30));
      const profile::RiskFunction risk(points);
      for (double z = -4; z <= 5; z += 0.1) {
        const GaussianRates rates = RatesAt(mu, z);
        const Interval error = risk.TypeTwoError(rates.alpha);
        EXPECT_LE(error.lower(), rates.beta + 1e-8) << twice << " " << z;
        EXPECT_GE(error.upper(), rates.beta - 1e-8) << twice << " " << z;
      }
    }
  }
}

// Every chord and every line holds for noisy values too: a curve whose δ is known to a hundredth.
TEST(RiskFunction, ContainsTheCurveHoweverWideItsPointsAre) {
  const double mu = 1.5;
  for (const double noise : {0.0, 1e-6, 1e-2, 0.3}) {
    for (const double spacing : {0.05, 0.4, 1.7}) {
      std::vector<profile::RiskPoint> points;
      int i = 0;
      for (double epsilon = -6; epsilon <= 6; epsilon += spacing, ++i) {
        // R(e^ε) = Φ(ε/μ - μ/2) + e^ε Φ(-ε/μ - μ/2), inside an interval that it is anywhere in.
        const double risk =
            Phi(epsilon / mu - mu / 2) + std::exp(epsilon) * Phi(-epsilon / mu - mu / 2);
        const double share = (i * 37 % 11) / 10.0;
        points.push_back(
            {std::exp(epsilon),
             {risk * (1 - share * noise - 1e-15), risk * (1 + (1 - share) * noise + 1e-15)}});
      }
      const profile::RiskFunction risk(points);
      for (double z = -4; z <= 5; z += 0.1) {
        const GaussianRates rates = RatesAt(mu, z);
        const Interval error = risk.TypeTwoError(rates.alpha);
        EXPECT_LE(error.lower(), rates.beta + 1e-14) << noise << " " << spacing << " " << z;
        EXPECT_GE(error.upper(), rates.beta - 1e-14) << noise << " " << spacing << " " << z;
      }
    }
  }
}

TEST(Advantage, OfAGaussianIsTheClosedForm) {
  for (const double mu : {0.1, 1.0, 4.0}) {
    const auto found = profile::ComputeAdvantage(Gaussian(mu), {});
    ASSERT_TRUE(found.ok()) << found.status();
    const double truth = std::erf(mu / 2 / std::sqrt(2.0));  // 2Φ(μ/2) - 1
    EXPECT_LE(found->value.lower(), truth * (1 + 1e-14));
    EXPECT_GE(found->value.upper(), truth * (1 - 1e-14));
    EXPECT_LT(found->value.RelativeGap(), 1e-9);
  }
}

TEST(BayesSuccess, IsThatOfTheLikelihoodRatioTest) {
  const double mu = 1;
  const std::vector<double> priors = {1e-6, 0.01, 0.3, 0.5, 0.9};
  const auto found = profile::ComputeBayesSuccess(Gaussian(mu), priors, {});
  ASSERT_TRUE(found.ok()) << found.status();
  for (size_t i = 0; i < priors.size(); ++i) {
    // Reject at the output where prior·p = (1 - prior)·q.
    const double threshold = std::log((1 - priors[i]) / priors[i]) / mu + mu / 2;
    const double truth = priors[i] * Phi(mu - threshold) + (1 - priors[i]) * Phi(threshold);
    EXPECT_LE(found->values[i].lower(), truth + 2e-15) << priors[i];
    EXPECT_GE(found->values[i].upper(), truth - 2e-15) << priors[i];
    EXPECT_LT(found->values[i].upper() - found->values[i].lower(), 1e-11) << priors[i];
  }
}

TEST(GaussianFit, OfAGaussianIsItselfWithoutRegret) {
  for (const double mu : {0.02, 1.0, 5.0, 12.0}) {
    const auto found = profile::ComputeGaussianFit(Gaussian(mu), 1e-9, {});
    ASSERT_TRUE(found.ok()) << found.status();
    const profile::GaussianFit& fit = found->fit;
    EXPECT_LE(fit.mu.lower(), mu) << mu;
    EXPECT_GE(fit.mu.upper(), mu) << mu;
    EXPECT_LT(fit.mu.RelativeGap(), 2e-3) << mu;
    EXPECT_EQ(fit.least_delta, 1e-9);
    EXPECT_LT(fit.regret.upper(), 2e-3) << mu;
  }
}

TEST(GaussianFit, CoversEveryEpsilonOfItsRangeAndGrowsWithIt) {
  Composition composition;
  composition.steps.push_back({0.01, {0.8, 0.8}, 1000});
  double before = 0;
  for (const double least : {1e-3, 1e-6, 1e-12}) {
    const auto found = profile::ComputeGaussianFit(composition, least, {});
    ASSERT_TRUE(found.ok()) << found.status();
    const profile::GaussianFit& fit = found->fit;
    EXPECT_LT(fit.mu.RelativeGap(), 2e-3);
    EXPECT_GT(fit.mu.lower(), before);  // sampled tails are heavier than any Gaussian's
    before = fit.mu.upper();
    EXPECT_GT(fit.regret.lower(), 0);
    bool touched = false;
    for (double delta = least * 1.001; delta < fit.greatest_delta; delta *= 3) {
      const auto truth = ComputeEpsilon(composition, delta, {});
      const auto gaussian = ComputeEpsilon(Gaussian(fit.mu.upper()), delta, {});
      const auto smaller = ComputeEpsilon(Gaussian(0.995 * fit.mu.lower()), delta, {});
      ASSERT_TRUE(truth.ok() && gaussian.ok() && smaller.ok());
      EXPECT_GE(gaussian->value.upper(), truth->value.lower()) << delta;
      touched |= smaller->value.upper() < truth->value.lower();
    }
    EXPECT_TRUE(touched) << least;  // the control: a μ half a per cent smaller does not cover it
  }
}

TEST(GaussianFit, IsZeroWhereNothingIsInTheRangeAndInfiniteWhereNoGaussianIsEnough) {
  const auto nothing = profile::ComputeGaussianFit(Gaussian(1e-4), 1e-2, {});
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_EQ(nothing->fit.mu.upper(), 0);
  Composition open;
  open.non_private = true;
  const auto everything = profile::ComputeGaussianFit(open, 1e-6, {});
  ASSERT_TRUE(everything.ok()) << everything.status();
  EXPECT_TRUE(std::isinf(everything->fit.mu.lower()));
}

TEST(NormalQuantile, EndsContainKnownValues) {
  struct Known {
    double p, z;  // P(N > z) = p, by mpmath at 30 digits
  };
  for (const Known& known : {Known{0.1, 1.2815515655446004}, Known{0.975, -1.959963984540054},
                             Known{1e-9, 5.9978070150076869}, Known{1e-200, 30.205594179579663}}) {
    const double up = profile::NormalQuantileUp(known.p);
    const double down = profile::NormalQuantileDown(known.p);
    EXPECT_GE(up, known.z - 1e-15 * std::fabs(known.z));
    EXPECT_LE(down, known.z + 1e-15 * std::fabs(known.z));
    EXPECT_LT(up - down, 1e-12 * (1 + std::fabs(known.z)));
  }
}

// One mesh serves many ε: each interval meets that of a question of its own, and is as narrow.
TEST(ManyDeltas, ContainWhatASingleQuestionDoes) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> unit(0, 1);
  History rounds, laplace, sampled;
  rounds.Add("w", RoundsEvent{{{0, PoissonSampling{0.01}}, {{"g", 1, 1.1}}}, 1000});
  laplace.Add("w", Mechanism{40, Laplace{3}});
  sampled.Add("w", Mechanism{200, PoissonSampled{0.1, {Mechanism{1, Laplace{1}}}}});
  const std::vector<std::pair<History, Adjacency>> cases = {{rounds, Adjacency::kReplaceOne},
                                                            {laplace, Adjacency::kReplaceOne},
                                                            {sampled, Adjacency::kAddOrRemoveOne}};
  for (const auto& [history, adjacency] : cases) {
    const auto composition = Resolve(history, adjacency);
    ASSERT_TRUE(composition.ok()) << composition.status();
    const Options options;
    profile::ManyDeltas deltas(*composition, options);
    const double reach = ComputeEpsilon(*composition, 1e-9, options)->value.upper();
    for (int i = 0; i < 18; ++i) {
      const double epsilon = reach * unit(random);
      const Direction direction = i % 3 == 1 ? Direction::kAdd : Direction::kRemove;
      const auto ask = [&](double at) {
        return i % 3 == 0 ? ComputeDelta(*composition, at, options)
                          : ComputeDelta(*composition, at, options, direction);
      };
      const auto found = i % 3 == 0 ? deltas.At(epsilon) : deltas.In(direction, epsilon);
      const auto single = ask(epsilon);
      ASSERT_TRUE(found.ok() && single.ok()) << found.status() << single.status();
      EXPECT_EQ(found->method, Method::kPld);
      EXPECT_LE(found->value.lower(), single->value.upper()) << epsilon;
      EXPECT_GE(found->value.upper(), single->value.lower()) << epsilon;
      EXPECT_LE(found->value.RelativeGap(), 1.0001e-4) << epsilon;
      // The control: another δ's is apart from it.
      EXPECT_GT(found->value.lower(), ask(epsilon + 0.02)->value.upper()) << epsilon;
    }
  }
}

TEST(Profile, RefusesBadPointsByNameAndPlace) {
  const Composition one = Gaussian(1);
  EXPECT_EQ(profile::DeltasAt(one, {1, -0.5}, {}).status().message(),
            "epsilons[1]: must be finite and >= 0, got -0.5");
  EXPECT_EQ(profile::EpsilonsAt(one, {1}, {}).status().message(),
            "deltas[0]: must be in [0, 1), got 1");
  EXPECT_EQ(profile::ComputeTradeOff(one, {0.5, 1.5}, {}).status().message(),
            "type_one_errors[1]: must be in [0, 1], got 1.5");
  EXPECT_EQ(profile::ComputeBayesSuccess(one, {1}, {}).status().message(),
            "priors[0]: must be in (0, 1), got 1");
  EXPECT_EQ(profile::ComputeGaussianFit(one, 0, {}).status().message(),
            "least_delta: must be in (0, 0.99), got 0");
  EXPECT_EQ(profile::DeltasAt(one, std::vector<double>(1001, 1.0), {}).status().message(),
            "epsilons: must have at most 1000 values, got 1001");
}

// Time that runs out while a curve is made narrower leaves the curve, not an error.
TEST(Profile, OutOfTimeLeavesAWiderCurveThatSaysSo) {
  const Composition composition = Gaussian(1);
  const std::vector<double> alphas = {1e-6, 0.01, 0.1, 0.5, 0.9};
  // The clock is looked at equally often each time; the deadline passes with the last look.
  Options options;
  int looks = 0, most = 0;
  options.limits.cancelled = [&] {
    if (++looks == most) options.limits.deadline = absl::InfinitePast();
    return false;
  };
  const auto unhurried = profile::ComputeTradeOff(composition, alphas, options);
  ASSERT_TRUE(unhurried.ok()) << unhurried.status();
  EXPECT_THAT(unhurried->origin.warnings, ::testing::IsEmpty());
  most = looks;
  looks = 0;
  const auto found = profile::ComputeTradeOff(composition, alphas, options);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->origin.warnings, ::testing::ElementsAre(::testing::HasSubstr("time ran out")));
  for (size_t i = 0; i < alphas.size(); ++i) {
    EXPECT_LE(found->points[i].remove.lower(), unhurried->points[i].remove.upper());
    EXPECT_GE(found->points[i].remove.upper(), unhurried->points[i].remove.lower());
  }
}

TEST(GaussianFit, AnswersForARangeThatIsHardlyOne) {
  const auto narrow = profile::ComputeGaussianFit(Gaussian(8), 0.98999, {});
  ASSERT_TRUE(narrow.ok()) << narrow.status();
  EXPECT_LE(narrow->fit.mu.lower(), 8);
  EXPECT_GE(narrow->fit.mu.upper(), 8 * (1 - 1e-9));
}

TEST(Profile, StopsWhenCancelled) {
  Options options;
  options.limits.cancelled = [] { return true; };
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, 1000});
  EXPECT_TRUE(absl::IsCancelled(profile::DeltasAt(composition, {1}, options).status()));
  EXPECT_TRUE(absl::IsCancelled(profile::ComputeTradeOff(composition, {0.1}, options).status()));
  EXPECT_TRUE(absl::IsCancelled(profile::ComputeGaussianFit(composition, 1e-6, options).status()));
}

}  // namespace
}  // namespace dpledger::accountant
