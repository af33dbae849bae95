// The audit's program run for real, its ledger and its ε a real server's. Thresholds as in
// canary_audit_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tests/fault/crashing_server.h"

namespace dpledger::testing {
namespace {

using ::testing::HasSubstr;

class CanaryAuditProgram : public ::testing::Test {
 protected:
  RunResult Run(const std::string& ledger, std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        BinaryPath("canary_audit"), "--server", server_.address(), "--ledger", ledger, "--spool",
        folder_.File(ledger)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(arguments);
  }

  TemporaryFolder folder_;
  CrashingServer server_;
};

// {the audit's bound, the ledger's upper bound}
std::pair<double, double> Epsilons(const std::string& said) {
  std::smatch match;
  const bool found = std::regex_search(
      said, match,
      std::regex(
          R"(audit +epsilon at least ([0-9.]+) [^]*ledger +epsilon \[[0-9.]+, ([0-9.]+)\])"));
  EXPECT_TRUE(found) << said;
  return found ? std::pair(std::stod(match[1]), std::stod(match[2])) : std::pair(-1.0, -1.0);
}

TEST_F(CanaryAuditProgram, LetsTheTrainerStandAndRefutesItsSabotages) {
  const RunResult honest = Run("honest", {});
  EXPECT_EQ(honest.exit_code, 0) << honest.err;
  EXPECT_THAT(honest.out, HasSubstr("the claim          stands"));
  const auto [bound, epsilon] = Epsilons(honest.out);
  EXPECT_NEAR(epsilon, 4, 0.01);
  EXPECT_GT(bound, 0.7);
  EXPECT_LT(bound, epsilon);
  for (const std::string sabotage : {"noise", "clip"}) {
    const RunResult run = Run("false-" + sabotage, {"--sabotage", sabotage});
    EXPECT_EQ(run.exit_code, 3) << run.err;
    EXPECT_THAT(run.out, HasSubstr("the claim          is refuted"));
    const auto [found, claimed] = Epsilons(run.out);
    EXPECT_NEAR(claimed, 4, 0.01);
    EXPECT_GT(found, claimed);
    const auto entries =
        ReadLedger(server_.address(), "projects/default/ledgers/false-" + sabotage);
    ASSERT_EQ(entries.size(), 2u + 2 * 4 + 1);  // with OPENED
    EXPECT_THAT(entries[0].declaration().description(), HasSubstr("claim is false"));
    EXPECT_THAT(entries[3].event().sum_query().query().group(), HasSubstr("FALSE"));
  }
}

TEST_F(CanaryAuditProgram, SaysWhatIsWrong) {
  const RunResult run = Run("wrong", {"--canaries", "100", "--guesses", "102"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("--guesses: must be at most --canaries, 100, got 102"));
  EXPECT_EQ(Run("wrong", {"--sabotage", "all"}).exit_code, 2);
}

}  // namespace
}  // namespace dpledger::testing
