// Federated averaging: what it learns, and what the ledger is told of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "examples/dp_fedavg/federated.h"
#include "tests/cli/server_process.h"

namespace dpledger::dp_fedavg {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

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
  absl::Status Run(double release_timeout_seconds = 60) {
    RecorderOptions options{.server = server_.address(), .ledger = "users"};
    options.declaration = {.dataset = "users",
                           .unit_of_privacy = "user",
                           .adjacency = Adjacency::kAddOrRemoveOne,
                           .parameters = Parameters::kFixed};
    options.spool_folder = folder_.File("spool");
    options.release_timeout_seconds = release_timeout_seconds;
    const auto recorder = Recorder::Open(options);
    RETURN_IF_ERROR(recorder.status());
    if (before_training_) before_training_();
    return Train(plan_, data_, network_, **recorder, stop_, state_);
  }
  // The ledger's lines that have `part`.
  std::vector<std::string> EntriesWith(const std::string& part) {
    const testing::RunResult read =
        testing::Dpledger({"ledger", "read", "users", "--server", server_.address()});
    EXPECT_EQ(read.exit_code, 0) << read.err;
    std::vector<std::string> lines = absl::StrSplit(read.out, '\n');
    std::erase_if(lines, [&](const std::string& line) { return !absl::StrContains(line, part); });
    return lines;
  }

  examples::Dataset data_;
  examples::Network network_;
  FederatedPlan plan_;
  FederatedState state_;
  std::vector<size_t> held_out_;
  testing::ServerProcess server_;
  testing::TemporaryFolder folder_;
  std::function<void()> before_training_;
  std::atomic<bool> stop_ = false;
};

TEST_F(DpFedAvg, LearnsUnderNoise) {
  ASSERT_EQ(Run(), absl::OkStatus());
  EXPECT_EQ(state_.rounds_done, 40u);
  EXPECT_GT(network_.Accuracy(state_.parameters, data_, held_out_), 0.75);
  EXPECT_THAT(EntriesWith("\"sampling\""),
              AllOf(SizeIs(40),
                    Each(HasSubstr(R"("population_size":"400","poisson":{"probability":0.25})"))));
  EXPECT_THAT(EntriesWith("\"sum_query\""), SizeIs(40));
  EXPECT_EQ(state_.clip_norm, 1);
}

TEST_F(DpFedAvg, ClipNormFollowsTheQuantile) {
  plan_.clip_norm = 50;  // far above the norms
  plan_.rounds = 30;
  plan_.adaptive = AdaptiveClipNorm{NormQuantile{0.5, 0.5}, 10, 100};
  ASSERT_EQ(Run(), absl::OkStatus());
  EXPECT_THAT(EntriesWith("\"sum_query\""), SizeIs(2 * 30));
  EXPECT_LT(state_.clip_norm, 5);
  EXPECT_GT(state_.clip_norm, 0.05);
}

TEST_F(DpFedAvg, KeepsTheStateOfTheLastGoodRoundOnAnError) {
  plan_.rounds = 2;
  ASSERT_EQ(Run(), absl::OkStatus());
  const std::vector<float> parameters = state_.parameters;
  plan_.rounds = 3;
  before_training_ = [&] { server_.Stop(); };
  EXPECT_EQ(Run(/*release_timeout_seconds=*/0.2).code(), absl::StatusCode::kDeadlineExceeded);
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
