// What the memorisation test is made of: random labels, and training without privacy and with it.
//
// All records are in every batch, so that training without privacy is the same each time; the noise
// of the private runs is the kernel's.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>

#include "examples/dp_sgd/on_events.h"
#include "examples/memorization/plain_training.h"
#include "examples/memorization/random_labels.h"
#include "tests/support/list_recorder.h"

namespace dpledger::memorization {
namespace {

TEST(RandomLabels, AreFairAndTheSeedsAlone) {
  examples::Dataset data = examples::MakeSynthetic(6000);
  const std::vector<int> true_labels = data.labels;
  DrawRandomLabels(1, data);
  const std::vector<int> labels = data.labels;
  std::vector<int> counts(3), agreeing(3);
  for (size_t i = 0; i < labels.size(); ++i) {
    ++counts[static_cast<size_t>(labels[i])];
    agreeing[static_cast<size_t>(labels[i])] += labels[i] == true_labels[i];
  }
  const double deviation = std::sqrt(6000.0 * 2 / 9);
  for (const int count : counts) EXPECT_NEAR(count, 2000, 5 * deviation);
  EXPECT_NEAR(agreeing[0] + agreeing[1] + agreeing[2], 2000, 5 * deviation);
  DrawRandomLabels(2, data);
  EXPECT_NE(data.labels, labels);
  DrawRandomLabels(1, data);
  EXPECT_EQ(data.labels, labels);
}

TEST(RandomLabels, DeviationsAreThoseOfABinomial) {
  EXPECT_DOUBLE_EQ(DeviationsAboveChance(0.5, 100, 2), 0);
  EXPECT_DOUBLE_EQ(DeviationsAboveChance(0.6, 100, 2), 2);
  EXPECT_NEAR(DeviationsAboveChance(1, 200, 3), 20, 1e-12);
}

class Memorization : public ::testing::Test {
 protected:
  static constexpr size_t kRecords = 100;

  Memorization() : data_(examples::MakeSynthetic(kRecords)), rows_(kRecords) {
    DrawRandomLabels(1, data_);
    std::iota(rows_.begin(), rows_.end(), size_t{0});
    plan_.population = rows_;
    plan_.expected_batch_size = kRecords;
    plan_.steps = 600;
    plan_.clip_norm = 5;
    plan_.learning_rate = 1;
  }
  double Deviations(const dp_sgd::TrainingState& state) {
    return DeviationsAboveChance(network_.Accuracy(state.parameters, data_, rows_), kRecords, 3);
  }
  double DeviationsWithNoise(double noise_multiplier) {
    plan_.noise_multiplier = noise_multiplier;
    dp_sgd::TrainingState state{network_.InitialParameters(1)};
    const std::atomic<bool> stop = false;
    EXPECT_TRUE(dp_sgd::TrainOnEvents(
                    plan_, data_, network_, recorder_, stop, [](uint64_t) {}, state)
                    .ok());
    return Deviations(state);
  }

  examples::Dataset data_;
  std::vector<size_t> rows_;
  dp_sgd::TrainingPlan plan_;
  examples::Network network_{20, 64, 3};
  testing::ListRecorder recorder_;
};

// 100 of 100 is 14.1 deviations.
TEST_F(Memorization, WithoutPrivacyKnowsRandomLabelsByHeart) {
  dp_sgd::TrainingState state{network_.InitialParameters(1)};
  EXPECT_LT(std::abs(Deviations(state)), 4);
  TrainWithoutPrivacy(plan_, data_, network_, state);
  EXPECT_EQ(state.steps_done, plan_.steps);
  EXPECT_GT(Deviations(state), 12);
}

// Noise multiplier 400 in 600 full batches is ε = 0.2 at δ = 1e-5. A model that had not seen the
// labels would be above 5 deviations with probability 3e-7.
TEST_F(Memorization, WithPrivacyCannot) { EXPECT_LT(DeviationsWithNoise(400), 5); }

// It is the noise that prevents it: nothing else in the private loop does.
TEST_F(Memorization, WithHardlyAnyNoiseTheSameLoopCan) { EXPECT_GT(DeviationsWithNoise(0.01), 12); }

}  // namespace
}  // namespace dpledger::memorization
