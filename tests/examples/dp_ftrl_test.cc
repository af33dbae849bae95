#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "examples/dp_ftrl/training.h"
#include "tests/cli/server_process.h"

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
  std::unique_ptr<Recorder> Open(const std::string& ledger) {
    RecorderOptions options{.server = server_.address(), .ledger = ledger};
    options.declaration = {.dataset = "synthetic",
                           .unit_of_privacy = "example",
                           .adjacency = Adjacency::kZeroOut,
                           .parameters = Parameters::kFixed};
    options.spool_folder = folder_.File(ledger);
    options.release_timeout_seconds = release_timeout_seconds_;
    auto recorder = Recorder::Open(options);
    EXPECT_TRUE(recorder.ok()) << recorder.status();
    return *std::move(recorder);
  }
  absl::Status Run(TrainingState& state, const std::string& ledger = "run") {
    state.parameters = network_.InitialParameters(1);
    return Train(plan_, data_, network_, *Open(ledger), /*checkpoints=*/{}, stop_, state);
  }
  // The lines of the ledger that have `part`.
  size_t EntriesWith(const std::string& part, const std::string& ledger) {
    const testing::RunResult read =
        testing::Dpledger({"ledger", "read", ledger, "--server", server_.address(), "--json"});
    EXPECT_EQ(read.exit_code, 0) << read.err;
    size_t count = 0;
    for (size_t at = read.out.find(part); at != std::string::npos; at = read.out.find(part, at + 1))
      ++count;
    return count;
  }
  double Accuracy(const TrainingState& state) {
    return network_.Accuracy(state.parameters, data_, held_out_);
  }

  const examples::Dataset data_;
  std::vector<size_t> held_out_;
  examples::Network network_{20, 0, 3};
  TrainingPlan plan_;
  testing::ServerProcess server_;
  testing::TemporaryFolder folder_;
  double release_timeout_seconds_ = 60;
  std::atomic<bool> stop_ = false;
};

TEST_F(DpFtrlTest, LearnsUnderCorrelatedNoise) {
  for (const auto& encoder :
       {decltype(plan_.encoder)(SquareRoot(8)), decltype(plan_.encoder)(TreeAggregation{}),
        decltype(plan_.encoder)(BufferedToeplitz{{0.3}, {0.8}})}) {
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
  EXPECT_EQ(EntriesWith("\"matrixMechanism\"", "run"), 1u);
  EXPECT_EQ(EntriesWith(R"("steps":"80")", "run"), 1u);
  EXPECT_EQ(EntriesWith(R"("participation":{"maxParticipations":"5","minSeparation":"16"})", "run"),
            1u);
}

TEST_F(DpFtrlTest, LearnsFromRecordsThatTheRunDraws) {
  const uint64_t population = plan_.population.size();
  for (const auto& sampling : {decltype(plan_.sampling)(CyclicPoissonSampling{population, 8, 0.5}),
                               decltype(plan_.sampling)(BallsInBinsSampling{population, 16})}) {
    plan_.sampling = sampling;
    TrainingState state;
    ASSERT_TRUE(Run(state).ok());
    EXPECT_EQ(state.steps_done, 80u);
    EXPECT_GT(Accuracy(state), 0.7);
  }
  EXPECT_EQ(EntriesWith(R"("cyclicPoisson":{"period":"8","probability":0.5)", "run"), 1u);
  EXPECT_EQ(EntriesWith(R"("ballsInBins":{"bins":"16"})", "run"), 1u);
}

TEST_F(DpFtrlTest, KeepsTheModelOfTheLastReleasedStep) {
  release_timeout_seconds_ = 0.2;
  const auto recorder = Open("run");
  server_.Stop();
  TrainingState state{network_.InitialParameters(1)};
  EXPECT_EQ(Train(plan_, data_, network_, *recorder, {}, stop_, state).code(),
            absl::StatusCode::kDeadlineExceeded);
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
