#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "examples/dp_ftrl/training.h"
#include "tests/support/list_recorder.h"

namespace dpledger::dp_ftrl {
namespace {

using ::testing::ElementsAre;

class DpFtrlTest : public ::testing::Test {
 protected:
  DpFtrlTest() : data_(examples::MakeSynthetic(4000)) {
    for (size_t i = 0; i < data_.size(); ++i) {
      (i % 5 == 0 ? held_out_ : plan_.population).push_back(i);
    }
    plan_.batches_per_epoch = 16;
    plan_.epochs = 5;
    plan_.clip_norm = 1;
    plan_.noise_multiplier = 5;
    plan_.encoder = SquareRoot(8);
    plan_.learning_rate = 0.5;
  }
  absl::Status Run(TrainingState& state) {
    state.parameters = network_.InitialParameters(1);
    return Train(plan_, data_, network_, recorder_, stop_, state);
  }
  double Accuracy(const TrainingState& state) {
    return network_.Accuracy(state.parameters, data_, held_out_);
  }

  const examples::Dataset data_;
  std::vector<size_t> held_out_;
  examples::Network network_{20, 0, 3};
  TrainingPlan plan_;
  testing::ListRecorder recorder_;
  std::atomic<bool> stop_ = false;
};

TEST_F(DpFtrlTest, LearnsUnderCorrelatedNoise) {
  for (const auto& encoder :
       {decltype(plan_.encoder)(SquareRoot(8)), decltype(plan_.encoder)(client::TreeAggregation{}),
        decltype(plan_.encoder)(client::BufferedToeplitz{{0.3}, {0.8}})}) {
    plan_.encoder = encoder;
    TrainingState state;
    ASSERT_TRUE(Run(state).ok());
    EXPECT_EQ(state.steps_done, 80u);
    EXPECT_GT(Accuracy(state), 0.7);
  }
}

TEST_F(DpFtrlTest, RecordsOneRunInWhichARecordIsOnceAnEpoch) {
  TrainingState state;
  ASSERT_TRUE(Run(state).ok());
  EXPECT_THAT(recorder_.calls, ElementsAre("record 41", "await 41"));
  const v1::ToeplitzEncoder& encoder = recorder_.mechanisms[0].matrix_mechanism().toeplitz();
  EXPECT_EQ(encoder.steps(), 80u);
  EXPECT_EQ(encoder.participation().max_participations(), 5u);
  EXPECT_EQ(encoder.participation().min_separation(), 16u);
}

TEST_F(DpFtrlTest, KeepsTheModelOfTheLastReleasedStep) {
  recorder_.await_status = absl::UnavailableError("server is away");
  TrainingState state;
  EXPECT_EQ(Run(state), absl::UnavailableError("server is away"));
  EXPECT_EQ(state.steps_done, 0u);
  EXPECT_EQ(state.parameters, network_.InitialParameters(1));
}

// Noise so large that nothing can be learnt: what is learnt above comes through the noise.
TEST_F(DpFtrlTest, LearnsNothingUnderMuchNoise) {
  plan_.noise_multiplier = 250;
  double mean = 0;
  for (int run = 0; run < 10; ++run) {
    TrainingState state;
    ASSERT_TRUE(Run(state).ok());
    mean += Accuracy(state) / 10;
  }
  EXPECT_LT(mean, 0.6);
}

TEST(SquareRoot, TimesItselfIsThePrefixSums) {
  const std::vector<double> c = SquareRoot(20).coefficients;
  for (size_t t = 0; t < c.size(); ++t) {
    double sum = 0;
    for (size_t j = 0; j <= t; ++j) sum += c[j] * c[t - j];
    EXPECT_NEAR(sum, 1, 1e-14);
  }
}

}  // namespace
}  // namespace dpledger::dp_ftrl
