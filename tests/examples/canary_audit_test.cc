// The audit of the example trainer, in this process: the trainer's own loop on canaries, the
// accountant's own ε of what it recorded.
//
// Coins come from fixed seeds, noise from the kernel: thresholds leave a probability of failing of
// less than 1e-6 each, as said beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>

#include "accountant/audit/audit.h"
#include "accountant/calibration/calibration.h"
#include "events/event_values.h"
#include "examples/canary_audit/audited_run.h"
#include "examples/canary_audit/canaries.h"
#include "examples/dp_sgd/on_events.h"
#include "questions/answers.h"
#include "tests/support/list_recorder.h"

namespace dpledger::canary_audit {
namespace {

constexpr uint64_t kCanaries = 10'000;
constexpr uint64_t kGuesses = 1000;
constexpr uint64_t kSteps = 4;
constexpr double kDelta = 1.0 / (kCanaries * kCanaries);
constexpr double kEpsilon = 4;

// For kEpsilon at kDelta.
double NoiseMultiplier() {
  accountant::CalibrationParameters given;
  given.sampling_probability = 1;
  given.steps = kSteps;
  const auto found =
      accountant::Calibrate({kEpsilon, kDelta}, given, accountant::Unknown::kNoiseMultiplier, {});
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? found->parameters.noise_multiplier : 0;
}

double LowerBound(double correct) {
  const accountant::audit::OneRun run{kCanaries, kGuesses, static_cast<uint64_t>(correct)};
  const auto bound = accountant::audit::EpsilonLowerBound(run, kDelta, 0.95);
  EXPECT_TRUE(bound.ok()) << bound.status();
  return bound.value_or(-1);
}

// What the audit says of the claim that was recorded.
v1::AuditClaimResponse Audit(const testing::ListRecorder& recorder, const Guesses& guesses) {
  questions::Subject subject;
  subject.adjacency = v1::ADD_OR_REMOVE_ONE;
  subject.parameters = v1::FIXED;
  v1::Event rounds;
  *rounds.mutable_rounds()->mutable_scheme() = recorder.schemes.at(0);
  rounds.mutable_rounds()->mutable_queries()->Add(recorder.queries.begin(), recorder.queries.end());
  rounds.mutable_rounds()->set_count(recorder.schemes.size());
  const auto event = events::ValueOf(rounds);
  EXPECT_TRUE(event.ok()) << event.status();
  subject.history.Add("", *event);

  v1::AuditClaimRequest request;
  request.set_delta(kDelta);
  request.mutable_one_run()->set_canaries(kCanaries);
  request.mutable_one_run()->set_guesses(guesses.made);
  request.mutable_one_run()->set_correct(guesses.correct);
  const auto answer = questions::Answer(subject, request, accountant::Limits());
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.value_or(v1::AuditClaimResponse());
}

struct Outcome {
  Guesses guesses;
  v1::AuditClaimResponse audit;
};

Outcome RunAndAudit(double noise_multiplier, Sabotage sabotage) {
  testing::ListRecorder recorder;
  const Canaries canaries(kCanaries, 3);
  const auto guesses =
      TrainAndGuess(canaries, kSteps, noise_multiplier, kGuesses, sabotage, recorder);
  EXPECT_TRUE(guesses.ok()) << guesses.status();
  if (!guesses.ok()) return {};
  EXPECT_EQ(recorder.schemes.size(), kSteps);
  EXPECT_EQ(recorder.schemes[0].poisson().probability(), 1);
  return {*guesses, Audit(recorder, *guesses)};
}

TEST(Canaries, HaveGradientsOfTheirOwn) {
  const Canaries canaries(40, 1);
  examples::Network network = canaries.MakeNetwork();
  const std::vector<float> parameters = network.InitialParameters(0);
  std::vector<std::vector<float>> gradients;
  for (size_t row = 0; row < canaries.data().size(); ++row) {
    std::vector<float>& gradient = gradients.emplace_back(parameters.size());
    network.Gradient(parameters, canaries.data().row(row), canaries.data().labels[row],
                     absl::MakeSpan(gradient));
  }
  ASSERT_GT(gradients.size(), 5u);
  const double square =
      NormAfterClipping(Sabotage::kNoClipping) * NormAfterClipping(Sabotage::kNoClipping);
  for (size_t i = 0; i < gradients.size(); ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double product = 0;
      for (size_t k = 0; k < parameters.size(); ++k) {
        product += double{gradients[i][k]} * double{gradients[j][k]};
      }
      if (i == j) {
        EXPECT_NEAR(product, square, 1e-6);
      } else {
        EXPECT_LE(std::abs(product) / square, 1 / (kFeature * kFeature + 1) + 1e-6);
      }
    }
  }
}

TEST(Canaries, AreInByFairCoins) {
  const Canaries canaries(2000, 7), others(2000, 8);
  EXPECT_NEAR(static_cast<double>(canaries.data().size()), 1000, 5 * std::sqrt(500.0));
  EXPECT_NE(canaries.data().features, others.data().features);
  const dp_sgd::TrainingPlan plan = canaries.Plan(1, 1);
  EXPECT_EQ(plan.probability(), 1);
  EXPECT_EQ(std::count_if(plan.population.begin(), plan.population.end(),
                          [&](size_t row) { return row < canaries.data().size(); }),
            static_cast<int64_t>(canaries.data().size()));
}

TEST(Canaries, GuessGoesByTheOwnWeights) {
  // Moved towards its own class: in; the other way: out. The first four of eight.
  constexpr size_t kCount = 8;
  const Canaries canaries(kCount, 1);
  const dp_sgd::TrainingPlan plan = canaries.Plan(1, 1);
  const std::vector<float> before(2 * kCount + 2);
  std::vector<float> after = before;
  uint64_t right = 0;
  for (size_t i = 0; i < 4; ++i) {
    const bool says_in = i % 2 == 0;
    after[(i % 2) * kCount + i] = says_in ? 1.0f : -1.0f;
    right += says_in == (plan.population[i] < canaries.data().size());
  }
  const Guesses guesses = canaries.Guess(before, after, 4);
  EXPECT_EQ(guesses.made, 4u);
  EXPECT_EQ(guesses.correct, right);
}

// The configuration's power, first: what the bound would be for as many right guesses as ideal
// Gaussian scores give.
TEST(CanaryAudit, HasThePowerToFindTheSabotages) {
  const double z = NoiseMultiplier();
  const auto bound = [&](double noise, Sabotage sabotage) {
    return LowerBound(std::floor(kGuesses * ExpectedCorrectShare(kCanaries, kGuesses, kSteps, noise,
                                                                 NormAfterClipping(sabotage))));
  };
  EXPECT_LT(bound(z, Sabotage::kNone), 1.6);
  EXPECT_GT(bound(z, Sabotage::kNone), 1.2);
  EXPECT_GT(bound(z / 4, Sabotage::kNone), 5);
  EXPECT_GT(bound(z, Sabotage::kNoClipping), 5);
  // Half the noise could not be told: the bound of one run is weaker than that of many.
  EXPECT_LT(bound(z / 2, Sabotage::kNone), kEpsilon);
}

TEST(CanaryAudit, ExpectedShareIsThatOfGaussianScores) {
  constexpr uint64_t kMany = 400'000, kOf = 20'000;
  const double z = 2.5, steps = 3;
  const double mu = std::sqrt(steps) / z * std::sqrt(64.0 / 65);
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  std::vector<std::pair<double, bool>> scores(kMany);
  for (auto& [score, in] : scores) {
    in = (random() >> 63) != 0;
    score = normal(random) + (in ? mu : 0);
  }
  std::sort(scores.begin(), scores.end());
  uint64_t right = 0;
  for (size_t i = 0; i < kOf / 2; ++i) right += !scores[i].second + scores[kMany - 1 - i].second;
  EXPECT_NEAR(static_cast<double>(right) / kOf, ExpectedCorrectShare(kMany, kOf, 3, z, 1),
              6 * 0.5 / std::sqrt(kOf));
}

// 822 of 1000 are right in expectation, with a deviation of 12: more than 720 but for 1e-15.
TEST(CanaryAudit, BoundOfTheTrainerIsBelowTheLedgersEpsilon) {
  const Outcome outcome = RunAndAudit(NoiseMultiplier(), Sabotage::kNone);
  EXPECT_NEAR(outcome.audit.claimed_epsilon().upper(), kEpsilon, 0.01);
  EXPECT_GT(outcome.guesses.correct, 720u);  // it does see the canaries
  EXPECT_GT(outcome.audit.epsilon_lower_bound(), 0.7);
  EXPECT_LT(outcome.audit.epsilon_lower_bound(), outcome.audit.claimed_epsilon().lower());
  EXPECT_FALSE(outcome.audit.refuted());
}

// 0.2 of 1000 guesses are wrong in expectation, and 9 may be: probability below 1e-13.
TEST(CanaryAudit, RefutesATrainerWithAQuarterOfTheNoise) {
  const Outcome outcome = RunAndAudit(NoiseMultiplier(), Sabotage::kQuarterNoise);
  EXPECT_NEAR(outcome.audit.claimed_epsilon().upper(), kEpsilon, 0.01);
  EXPECT_GT(outcome.audit.epsilon_lower_bound(), outcome.audit.claimed_epsilon().upper());
  EXPECT_TRUE(outcome.audit.refuted());
}

TEST(CanaryAudit, RefutesATrainerThatDoesNotClip) {
  const Outcome outcome = RunAndAudit(NoiseMultiplier(), Sabotage::kNoClipping);
  EXPECT_NEAR(outcome.audit.claimed_epsilon().upper(), kEpsilon, 0.01);
  EXPECT_GT(outcome.audit.epsilon_lower_bound(), outcome.audit.claimed_epsilon().upper());
  EXPECT_TRUE(outcome.audit.refuted());
}

// The same little noise, honestly recorded: what is refuted is the lie, not the noise.
TEST(CanaryAudit, LetsAnHonestLedgerOfLittleNoiseStand) {
  const Outcome outcome = RunAndAudit(NoiseMultiplier() / 4, Sabotage::kNone);
  EXPECT_GT(outcome.audit.epsilon_lower_bound(), kEpsilon);
  EXPECT_GT(outcome.audit.claimed_epsilon().lower(), 15);
  EXPECT_FALSE(outcome.audit.refuted());
}

// Control: guesses about other coins than those of the run are right by halves. 500 with a
// deviation of 16: below 600 up to 2e-10.
TEST(CanaryAudit, ShowsNothingOfCoinsThatWereNotTrainedOn) {
  const Canaries trained(kCanaries, 3), others(kCanaries, 4);
  testing::ListRecorder recorder;
  examples::Network network = trained.MakeNetwork();
  dp_sgd::TrainingState state{network.InitialParameters(0)};
  const std::vector<float> before = state.parameters;
  const std::atomic<bool> stop = false;
  ASSERT_TRUE(
      dp_sgd::TrainOnEvents(
          trained.Plan(1, 0.5), trained.data(), network, recorder, stop, [](uint64_t) {}, state)
          .ok());
  EXPECT_LT(others.Guess(before, state.parameters, kGuesses).correct, 600u);
  EXPECT_LT(LowerBound(600), 0.35);
  EXPECT_GT(trained.Guess(before, state.parameters, kGuesses).correct, 900u);
}

}  // namespace
}  // namespace dpledger::canary_audit
