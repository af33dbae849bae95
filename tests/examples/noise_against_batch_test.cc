// The table of noise per example against the batch size, from a real server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "accountant/calibration/calibration.h"
#include "tests/fault/crashing_server.h"

namespace dpledger::testing {
namespace {

using ::testing::HasSubstr;

class NoiseAgainstBatch : public ::testing::Test {
 protected:
  RunResult Run(std::vector<std::string> more) {
    std::vector<std::string> arguments = {BinaryPath("noise_against_batch"), "--server",
                                          server_.address()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(arguments);
  }

  CrashingServer server_;
};

std::vector<double> Numbers(const std::string& line) {
  std::vector<double> numbers;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(line, ','))) {
    EXPECT_TRUE(absl::SimpleAtod(word, &numbers.emplace_back())) << line;
  }
  return numbers;
}

TEST_F(NoiseAgainstBatch, RowsKeepTheBudgetAndShareTheNoise) {
  const RunResult run = Run({"--epsilon", "1", "--population", "10000", "--epochs", "5",
                             "--clip-norm", "0.5", "--batch-sizes", "100,1000,10000", "--csv"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::vector<std::string> lines = absl::StrSplit(run.out, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "batch_size,sampling_probability,steps,noise_multiplier,noise_per_example");
  double noise_before = 1;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<double> row = Numbers(lines[i]);
    ASSERT_EQ(row.size(), 5u);
    EXPECT_DOUBLE_EQ(row[1], row[0] / 10000);
    EXPECT_EQ(row[2], 5 * 10000 / row[0]);
    EXPECT_DOUBLE_EQ(row[4], row[3] * 0.5 / row[0]);
    EXPECT_LT(row[4], noise_before);
    noise_before = row[4];
    // What the server found is what the accountant finds.
    accountant::CalibrationParameters given;
    given.sampling_probability = row[1];
    given.steps = static_cast<uint64_t>(row[2]);
    const auto own =
        accountant::Calibrate({1, 1e-5}, given, accountant::Unknown::kNoiseMultiplier, {});
    ASSERT_TRUE(own.ok()) << own.status();
    EXPECT_NEAR(row[3] / own->parameters.noise_multiplier, 1, 1e-3);
  }
}

TEST_F(NoiseAgainstBatch, SaysWhatIsWrong) {
  const RunResult larger = Run({"--population", "100", "--batch-sizes", "10,101"});
  EXPECT_EQ(larger.exit_code, 1);
  EXPECT_THAT(larger.err, HasSubstr("--batch-sizes: must be at most the population, 100, got 101"));
  EXPECT_EQ(larger.out, "");
  EXPECT_EQ(Run({"--batch-sizes", "0"}).exit_code, 2);
  server_.Kill();
  EXPECT_EQ(Run({}).exit_code, 6);
  server_.Start();
}

}  // namespace
}  // namespace dpledger::testing
