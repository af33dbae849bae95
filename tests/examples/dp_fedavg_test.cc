// Federated averaging: what it learns, and what the ledger is told of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "examples/dp_fedavg/federated.h"
#include "tests/support/list_recorder.h"

namespace dpledger::dp_fedavg {
namespace {

class DpFedAvg : public ::testing::Test {
 protected:
  DpFedAvg()
      : data_(examples::MakeSynthetic(6000)),
        network_(data_.feature_count, 0, static_cast<size_t>(data_.class_count)) {
    plan_.users = DealOut(4000, 400);
    plan_.expected_users = 100;
    plan_.rounds = 40;
    plan_.noise_multiplier = 1;
    plan_.clip_norm = 1;
    plan_.local_learning_rate = 0.1;
    state_.parameters = network_.InitialParameters(0);
    for (size_t row = 4000; row < data_.size(); ++row) held_out_.push_back(row);
  }
  absl::Status Run() { return Train(plan_, data_, network_, recorder_, stop_, state_); }

  examples::Dataset data_;
  examples::Network network_;
  FederatedPlan plan_;
  FederatedState state_;
  std::vector<size_t> held_out_;
  testing::ListRecorder recorder_;
  std::atomic<bool> stop_ = false;
};

TEST_F(DpFedAvg, LearnsUnderNoise) {
  ASSERT_EQ(Run(), absl::OkStatus());
  EXPECT_EQ(state_.rounds_done, 40u);
  EXPECT_GT(network_.Accuracy(state_.parameters, data_, held_out_), 0.75);
  ASSERT_EQ(recorder_.schemes.size(), 40u);
  EXPECT_EQ(recorder_.schemes[0].poisson().probability(), 0.25);
  EXPECT_EQ(recorder_.schemes[0].population_size(), 400u);
  EXPECT_EQ(recorder_.queries.size(), 1u);
  EXPECT_EQ(state_.clip_norm, 1);
}

TEST_F(DpFedAvg, ClipNormFollowsTheQuantile) {
  plan_.clip_norm = 50;  // far above the norms
  plan_.rounds = 30;
  plan_.adaptive = client::AdaptiveClipNorm{client::NormQuantile{0.5, 0.5}, 10, 100};
  ASSERT_EQ(Run(), absl::OkStatus());
  EXPECT_EQ(recorder_.queries.size(), 2u);
  EXPECT_LT(state_.clip_norm, 5);
  EXPECT_GT(state_.clip_norm, 0.05);
}

TEST_F(DpFedAvg, KeepsTheStateOfTheLastGoodRoundOnAnError) {
  plan_.rounds = 2;
  ASSERT_EQ(Run(), absl::OkStatus());
  const std::vector<float> parameters = state_.parameters;
  recorder_.await_status = absl::UnavailableError("server is away");
  plan_.rounds = 3;
  EXPECT_EQ(Run(), recorder_.await_status);
  EXPECT_EQ(state_.parameters, parameters);
  EXPECT_EQ(state_.rounds_done, 2u);
}

TEST(DealOut, GivesEveryRowToOneUser) {
  const auto users = DealOut(10, 3);
  ASSERT_EQ(users.size(), 3u);
  EXPECT_THAT(users[0], ::testing::ElementsAre(0, 3, 6, 9));
  EXPECT_THAT(users[2], ::testing::ElementsAre(2, 5, 8));
}

}  // namespace
}  // namespace dpledger::dp_fedavg
