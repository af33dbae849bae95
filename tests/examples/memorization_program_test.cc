// The memorisation test's program run for real against a real server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tests/fault/crashing_server.h"

namespace dpledger::testing {
namespace {

using ::testing::HasSubstr;

class MemorizationProgram : public ::testing::Test {
 protected:
  RunResult Run(const std::string& ledger, std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        BinaryPath("memorization"), "--server", server_.address(), "--ledger", ledger, "--spool",
        folder_.File(ledger)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(arguments);
  }

  TemporaryFolder folder_;
  CrashingServer server_;
};

double Accuracy(const std::string& said, const std::string& run) {
  std::smatch match;
  const bool found =
      std::regex_search(said, match, std::regex(run + " +training accuracy ([0-9.]+),"));
  EXPECT_TRUE(found) << said;
  return found ? std::stod(match[1]) : -1;
}

TEST_F(MemorizationProgram, KnowsLabelsByHeartWithoutPrivacyOnly) {
  const RunResult run = Run("heart", {"--population", "100", "--batch-size", "100", "--steps",
                                      "400", "--target-epsilon", "0.2"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("100 records, labels drawn at random from 3 classes"));
  EXPECT_GT(Accuracy(run.out, "without privacy"), 0.9);
  EXPECT_LT(Accuracy(run.out, "with privacy"), 0.57);  // 5 deviations from chance
  EXPECT_THAT(run.out, HasSubstr("no clipping, no noise, no epsilon"));
  EXPECT_THAT(run.out, HasSubstr(" at delta 1e-05"));
  // The run without privacy has left nothing in the ledger.
  const auto entries = ReadLedger(server_.address(), "projects/default/ledgers/heart");
  EXPECT_EQ(entries.size(), 2u + 2 * 400 + 1);  // with OPENED
}

TEST_F(MemorizationProgram, SaysWhatIsWrong) {
  const RunResult run = Run("wrong", {"--target-epsilon", "1", "--batch-size", "201"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("--batch-size: must be at most the population, 200, got 201"));
  EXPECT_EQ(Run("wrong", {"--target-epsilon", "nan"}).exit_code, 2);
}

}  // namespace
}  // namespace dpledger::testing
