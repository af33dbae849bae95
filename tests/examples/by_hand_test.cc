// The example trainers against a real server: the ledger's epsilon is what a calculation by hand
// says for the run that was asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cli/server_process.h"
#include "tests/support/await_that.h"

namespace dpledger::testing {
namespace {

struct Bounds {
  double lower, upper;
};

class ByHand : public ::testing::Test {
 protected:
  std::vector<std::string> Command(const std::string& program, const std::string& ledger,
                                   const std::vector<std::string>& flags) {
    std::vector<std::string> command = {BinaryPath(program),  "--server", server_.address(),
                                        "--ledger",           ledger,     "--spool",
                                        folder_.File(program)};
    command.insert(command.end(), flags.begin(), flags.end());
    return command;
  }
  // Of the last model that dp_ftrl has kept; 0 if it has none yet.
  int ModelSteps() {
    int steps = 0;
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(folder_.File("dp_ftrl"), none)) {
      const std::string name = file.path().filename();
      std::smatch number;
      if (std::regex_match(name, number, std::regex("model-([0-9]+)"))) {
        steps = std::max(steps, std::stoi(number[1]));
      }
    }
    return steps;
  }
  // The epsilon that `program` prints at its end.
  Bounds LedgerEpsilon(const std::string& program, const std::vector<std::string>& flags,
                       const std::string& ledger = "run") {
    const RunResult run = RunProgram(Command(program, ledger, flags));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    std::smatch epsilon;
    const bool found =
        std::regex_search(run.out, epsilon, std::regex(R"(epsilon +\[([0-9.]+), ([0-9.]+)\])"));
    EXPECT_TRUE(found) << run.out;
    return found ? Bounds{std::stod(epsilon[1]), std::stod(epsilon[2])} : Bounds{-1, -1};
  }

  TemporaryFolder folder_;
  ServerProcess server_;
};

double Phi(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

// The Gaussian mechanism's delta for mu = 1/z over all rounds (Balle and Wang 2018, theorem 8).
double GaussianDelta(double epsilon, double mu) {
  return Phi(mu / 2 - epsilon / mu) - std::exp(epsilon) * Phi(-mu / 2 - epsilon / mu);
}

double GaussianEpsilon(double delta, double mu) {
  double low = 0, high = 100;
  while (high - low > 1e-12) {
    const double middle = (low + high) / 2;
    (GaussianDelta(middle, mu) > delta ? low : high) = middle;
  }
  return high;
}

// The multiplier really used is the least on the integer grid that is not below the one asked for:
// larger by less than 1e-6. Printed are six digits.
void ExpectIs(const Bounds& bounds, double epsilon) {
  EXPECT_NEAR(bounds.lower, epsilon, 2e-4 * epsilon);
  EXPECT_NEAR(bounds.upper, epsilon, 2e-4 * epsilon);
  EXPECT_LE(bounds.lower, epsilon + 1e-6);
}

// Every record in every round: a Gaussian mechanism with mu = sqrt(T) / z.
TEST_F(ByHand, DpSgdOnFullBatches) {
  const Bounds ledger = LedgerEpsilon("dp_sgd", {"--noise-multiplier", "8", "--steps", "25",
                                                 "--batch-size", "15910", "--delta", "1e-6"});
  ExpectIs(ledger, GaussianEpsilon(1e-6, 5.0 / 8));
}

TEST_F(ByHand, DpFedAvgOnAllUsers) {
  const Bounds ledger = LedgerEpsilon(
      "dp_fedavg", {"--noise-multiplier", "4", "--rounds", "9", "--users", "200",
                    "--users-per-round", "200", "--clip-quantile", "0.5", "--delta", "1e-5"});
  ExpectIs(ledger, GaussianEpsilon(1e-5, 3.0 / 4));
}

// Sampled: the same rounds written down by hand, for the accountant without a server.
TEST_F(ByHand, DpFedAvgOnSampledUsers) {
  const Bounds ledger =
      LedgerEpsilon("dp_fedavg", {"--noise-multiplier", "1.1", "--rounds", "40", "--users", "500",
                                  "--users-per-round", "50", "--delta", "1e-5"});
  const std::string events = folder_.Write(
      "events.jsonl", R"({"rounds":{"scheme":{"poisson":{"probability":0.1}},)"
                      R"("queries":[{"l2NormBound":1,"noiseStddev":1.1}],"count":"40"}})"
                      "\n");
  const RunResult run = RunProgram(
      {BinaryPath("dpledger"), "epsilon", "--delta", "1e-5", "--events", events, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::smatch upper;
  ASSERT_TRUE(std::regex_search(run.out, upper, std::regex(R"("upper":([0-9.]+))"))) << run.out;
  ExpectIs(ledger, std::stod(upper[1]));
}

// Bands that do not meet: a record's squared sensitivity is epochs times that of one band, with
// coefficients 1, 1/2, 3/8, 5/16.
TEST_F(ByHand, DpFtrlByABand) {
  const Bounds ledger =
      LedgerEpsilon("dp_ftrl", {"--noise-multiplier", "6", "--epochs", "3", "--batch-size", "400",
                                "--band", "4", "--delta", "1e-6"});
  const double squared = 3 * (1 + 0.25 + 0.140625 + 0.09765625);
  ExpectIs(ledger, GaussianEpsilon(1e-6, std::sqrt(squared) / 6));
}

// 15910 records in batches of 4000 or so are 3 steps an epoch: with 2 epochs the complete dyadic
// intervals are 6 steps, 3 pairs and 4 steps. A record of the first step is twice in its steps and
// pairs once each, and twice in the four: 1 + 1 + 1 + 1 + 2^2.
TEST_F(ByHand, DpFtrlByATree) {
  const Bounds ledger =
      LedgerEpsilon("dp_ftrl", {"--noise-multiplier", "6", "--epochs", "2", "--batch-size", "4000",
                                "--encoder", "tree", "--delta", "1e-6"});
  ExpectIs(ledger, GaussianEpsilon(1e-6, std::sqrt(8.0) / 6));
}

// Killed in the middle, stopped, and started again by the same command: one run with a state, in
// which bands of two coefficients do not meet. The control, without one: a second process adds a
// second run.
TEST_F(ByHand, DpFtrlGoesOnAfterAKill) {
  const std::string key = folder_.Write("run.key", std::string(32, 'k'));
  std::filesystem::permissions(key, std::filesystem::perms::owner_read);
  const std::vector<std::string> flags = {"--noise-multiplier",
                                          "20",
                                          "--epochs",
                                          "40",
                                          "--batch-size",
                                          "6000",
                                          "--band",
                                          "2",
                                          "--delta",
                                          "1e-6"};
  std::vector<std::string> kept = flags, second = flags;
  kept.insert(kept.end(), {"--state-key", key, "--save-every", "1"});
  for (const auto& [steps, signal, exit_code] :
       {std::tuple{3, SIGKILL, 128 + SIGKILL}, {9, SIGTERM, 130}}) {
    const pid_t pid = StartProgram(Command("dp_ftrl", "kept", kept), folder_.File("log"));
    AwaitThat([&, least = steps] { return ModelSteps() >= least; });
    EXPECT_EQ(StopProgram(pid, signal), exit_code);
  }
  const double squared = 40 * (1 + 0.25);
  ExpectIs(LedgerEpsilon("dp_ftrl", kept, "kept"), GaussianEpsilon(1e-6, std::sqrt(squared) / 20));

  LedgerEpsilon("dp_ftrl", flags, "not-kept");
  second.insert(second.end(), {"--writer", "second"});
  ExpectIs(LedgerEpsilon("dp_ftrl", second, "not-kept"),
           GaussianEpsilon(1e-6, std::sqrt(2 * squared) / 20));
}

TEST_F(ByHand, DpFtrlKeepsItsTarget) {
  const Bounds ledger = LedgerEpsilon("dp_ftrl", {"--target-epsilon", "2", "--delta", "1e-5",
                                                  "--encoder", "buffered", "--epochs", "2"});
  EXPECT_LE(ledger.upper, 2);
  EXPECT_GE(ledger.lower, 1.999);
}

// The control: one round more is seen.
TEST_F(ByHand, NoticesARoundTooMany) {
  const Bounds ledger =
      LedgerEpsilon("dp_fedavg", {"--noise-multiplier", "4", "--rounds", "10", "--users", "200",
                                  "--users-per-round", "200", "--delta", "1e-5"});
  EXPECT_GT(ledger.lower, GaussianEpsilon(1e-5, 3.0 / 4) * (1 + 1e-2));
}

}  // namespace
}  // namespace dpledger::testing
