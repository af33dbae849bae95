// Profiles and audits: what the real program prints, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/cli/events.h"
#include "tests/cli/json_object.h"
#include "tests/cli/process.h"
#include "tests/cli/server_process.h"

namespace dpledger::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

double NumberIn(const google::protobuf::Value& object, const std::string& key) {
  return object.struct_value().fields().at(key).number_value();
}
double UpperOf(const google::protobuf::Value& object, const std::string& key) {
  return NumberIn(object.struct_value().fields().at(key), "upper");
}
double LowerOf(const google::protobuf::Value& object, const std::string& key) {
  return NumberIn(object.struct_value().fields().at(key), "lower");
}

class Profile : public ::testing::Test {
 protected:
  std::string Gaussian() {
    return folder_.Write("gaussian.jsonl", PoissonRounds("1", "1", "1"));  // μ = 1
  }
  std::string Sampled() { return folder_.Write("s.jsonl", PoissonRounds("0.01", "1", "10000")); }

  // With exit code 0.
  static RunResult Run(const std::vector<std::string>& arguments) {
    const RunResult result = Dpledger(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }

  TemporaryFolder folder_;
};

TEST_F(Profile, PointsAreTheContractsAndHoldTheTruth) {
  const JsonObject answer(
      Run({"profile", "--epsilons", "1,5", "--events", Gaussian(), "--json"}).out);
  EXPECT_THAT(answer.Keys(),
              ElementsAre("advantage", "bayesSuccess", "details", "points", "tradeOff"));
  const auto points = answer.Array("points");
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_EQ(UpperOf(points[0], "epsilon"), 1);
  EXPECT_LE(LowerOf(points[0], "delta"), 0.126936737506644);
  EXPECT_GE(UpperOf(points[0], "delta"), 0.126936737506643);
  EXPECT_EQ(UpperOf(points[1], "epsilon"), 5);
  EXPECT_LE(LowerOf(points[1], "delta"), 5.79372169191950e-7);
  EXPECT_GE(UpperOf(points[1], "delta"), 5.79372169191948e-7);
  // 2Φ(1/2) - 1
  EXPECT_NEAR(answer.Number("advantage.upper"), 0.382924922548026, 1e-12);
}

TEST_F(Profile, DeltasGiveEpsilonsAndAreSpacedByEqualQuotients) {
  const JsonObject answer(
      Run({"profile", "--deltas", "1e-10:1e-2:5", "--events", Sampled(), "--json"}).out);
  const auto points = answer.Array("points");
  ASSERT_THAT(points, SizeIs(5));
  EXPECT_EQ(UpperOf(points[1], "delta"), 1e-8);
  EXPECT_EQ(UpperOf(points[2], "delta"), 1e-6);
  const JsonObject alone(Run({"epsilon", "--delta", "1e-6", "--events", Sampled(), "--json"}).out);
  EXPECT_EQ(UpperOf(points[2], "epsilon"), alone.Number("epsilon.upper"));
}

TEST_F(Profile, TradeOffPriorsAndTheGaussianComeInTheSameObject) {
  const JsonObject answer(Run({"profile", "--trade-off", "--alphas", "0.1", "--priors", "0.5",
                               "--gaussian-fit", "1e-9", "--events", Gaussian(), "--json"})
                              .out);
  EXPECT_THAT(answer.Array("points"), IsEmpty());
  const auto rates = answer.Array("tradeOff");
  ASSERT_THAT(rates, SizeIs(1));
  EXPECT_EQ(NumberIn(rates[0], "typeOne"), 0.1);
  // The published true positive rate at false positive rate 0.1 is .38914.
  for (const char* direction : {"remove", "add", "symmetric"}) {
    EXPECT_LE(LowerOf(rates[0], direction), 1 - 0.389143);
    EXPECT_GE(UpperOf(rates[0], direction), 1 - 0.389144);
  }
  const auto success = answer.Array("bayesSuccess");
  ASSERT_THAT(success, SizeIs(1));
  EXPECT_NEAR(UpperOf(success[0], "success"), 0.691462461274013, 1e-12);  // Φ(1/2)
  EXPECT_LE(answer.Number("gaussianFit.mu.lower"), 1);
  EXPECT_GE(answer.Number("gaussianFit.mu.upper"), 1);
  EXPECT_LT(answer.Number("gaussianFit.mu.upper"), 1.002);
  EXPECT_EQ(answer.Number("gaussianFit.leastDelta"), 1e-9);
  EXPECT_GT(answer.Number("gaussianFit.greatestDelta"), 0.38);
}

TEST_F(Profile, CsvHasAHeaderALineAPointAndExactNumbers) {
  const std::vector<std::string> lines = absl::StrSplit(
      Run({"profile", "--epsilons", "0.1,1", "--events", Gaussian(), "--csv"}).out, '\n');
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0], "epsilon,delta_lower,delta_upper");
  EXPECT_THAT(lines[1], StartsWith("0.1,0.3"));
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(lines[2], ',')).size(), 3u);
  EXPECT_EQ(lines[3], "");
  const std::string open = folder_.Write("open.jsonl", R"({"mechanism":{"nonPrivate":{}}})"
                                                       "\n");
  EXPECT_EQ(Run({"profile", "--deltas", "0.5", "--events", open, "--csv"}).out,
            "delta,epsilon_lower,epsilon_upper\n0.5,Infinity,Infinity\n");
  EXPECT_THAT(
      Run({"profile", "--trade-off", "--alphas", "0.5", "--events", Gaussian(), "--csv"}).out,
      StartsWith("type_one,remove_lower,remove_upper,add_lower,add_upper,symmetric_lower,"
                 "symmetric_upper\n0.5,0.1586"));
}

TEST_F(Profile, CsvAndJsonAreRefusedTogether) {
  const RunResult both =
      Dpledger({"profile", "--epsilons", "1", "--events", Gaussian(), "--csv", "--json"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.out, HasSubstr("--csv: must not be given with --json\""));
}

// ---- audit ----

class Audit : public Profile {
 protected:
  static std::vector<std::string> OneRun(const std::string& correct,
                                         std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"audit",     "--canaries", "1000",    "--guesses", "100",
                                          "--correct", correct,      "--delta", "1e-5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(Audit, BoundAloneNeedsNoClaim) {
  const JsonObject answer(Run(OneRun("100", {"--json"})).out);
  EXPECT_THAT(answer.Keys(), ElementsAre("confidence", "curve", "delta", "details",
                                         "epsilonLowerBound", "refuted"));
  EXPECT_NEAR(answer.Number("curve.gaussianEpsilon"), 5.549, 1e-3);
  EXPECT_LE(answer.Number("epsilonLowerBound"), 3.4653763478110467);
  EXPECT_GE(answer.Number("epsilonLowerBound"), 3.465376);
  EXPECT_EQ(answer.Number("confidence"), 0.95);
  EXPECT_THAT(Run(OneRun("100")).out, StartsWith("epsilon at least   3.465376"));
}

TEST_F(Audit, AClaimThatStandsIsExitZeroARefutedOneIsExitThree) {
  // ε(1e-5) of the Gaussian with μ = 1 is 4.38.
  const JsonObject stands(Run(OneRun("85", {"--events", Gaussian(), "--json"})).out);
  EXPECT_FALSE(stands.Has("error"));
  EXPECT_NEAR(stands.Number("claimedEpsilon.upper"), 4.377, 1e-2);
  const std::string small = folder_.Write("small.jsonl", PoissonRounds("1", "2", "1"));
  const RunResult refuted = Dpledger(OneRun("100", {"--events", small, "--json"}));
  EXPECT_EQ(refuted.exit_code, 3);
  const JsonObject answer(refuted.out);  // one object, the answer
  EXPECT_LT(answer.Number("claimedEpsilon.upper"), answer.Number("epsilonLowerBound"));
  EXPECT_THAT(refuted.out, HasSubstr("\"refuted\":true"));
  EXPECT_THAT(refuted.err, StartsWith("dpledger: the claim is refuted: at confidence 0.95 epsilon "
                                      "is at least 3.465376, the claim is "));
}

// Every guess right refutes μ = 1.2, whose ε is 5.5, though the bound for one ε is 3.5.
TEST_F(Audit, OneRunIsHeldAgainstTheWholeCurve) {
  const RunResult refuted = Dpledger(OneRun("100", {"--events", Gaussian()}));
  EXPECT_EQ(refuted.exit_code, 3);
  EXPECT_THAT(refuted.out, HasSubstr("\nthe claim          is refuted"));
  EXPECT_EQ(refuted.err,
            "dpledger: the claim is refuted: at confidence 0.95 its trade-off curve cannot be\n");
}

// TPR .3 at FPR .02 is beyond what μ = 1 allows (.15), though one δ alone does not show it.
TEST_F(Audit, ManyRunsAreHeldAgainstTheWholeCurve) {
  const std::vector<std::string> runs = {"audit",    "--runs-with",    "2000", "--detected-with",
                                         "600",      "--runs-without", "2000", "--detected-without",
                                         "40",       "--delta",        "1e-5", "--events",
                                         Gaussian(), "--json"};
  const RunResult refuted = Dpledger(runs);
  EXPECT_EQ(refuted.exit_code, 3) << refuted.err;
  const JsonObject answer(refuted.out);
  EXPECT_GT(answer.Number("claimedEpsilon.upper"), answer.Number("epsilonLowerBound"));
  EXPECT_LT(answer.Number("observed.typeTwo"), answer.Number("claimedTypeTwo.lower"));
  std::vector<std::string> fewer = runs;
  fewer[4] = "300";
  EXPECT_EQ(Dpledger(fewer).exit_code, 0);
}

TEST_F(Audit, ALedgersClaimAndProfileComeFromTheServer) {
  ServerProcess server;
  ASSERT_TRUE(server.running());
  const std::vector<std::string> at = {"--server", server.address()};
  const auto on = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), at.begin(), at.end());
    return arguments;
  };
  Run(on(CreateLedger("audited", "d", {"--planned-rounds", "3"})));
  Run(on({"ledger", "append", "audited", "--events", Gaussian()}));
  const RunResult stands = Run(on(OneRun("85", {"--ledger", "audited", "--json"})));
  EXPECT_EQ(JsonObject(stands.out).Text("details.ledgers.0.name"),
            "projects/default/ledgers/audited");
  const JsonObject profile(Run(on({"profile", "--epsilons", "1", "--trade-off", "--alphas", "0.1",
                                   "--ledger", "audited", "--json"}))
                               .out);
  const auto points = profile.Array("points");
  ASSERT_THAT(points, SizeIs(1));
  EXPECT_LE(LowerOf(points[0], "delta"), 0.126936737506644);
  EXPECT_GE(UpperOf(points[0], "delta"), 0.126936737506643);
  // Three rounds are planned: μ = √3.
  EXPECT_GT(LowerOf(points[0], "planned"), 0.3);
  EXPECT_THAT(profile.Array("tradeOff"), SizeIs(1));
  EXPECT_EQ(server.Stop(), 0);
}

// ---- flags ----

TEST(ProfileUsage, ABadFlagIsExitTwoAndSaysWhichAndWhy) {
  struct Bad {
    std::vector<std::string> arguments;
    std::string message;
  };
  const std::string f = "no-such-file.jsonl";  // a bad flag is found before the file is opened
  const auto profile = [&](std::vector<std::string> more, const std::string& message) {
    std::vector<std::string> arguments = {"profile", "--events", f};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Bad{arguments, message};
  };
  const auto audit = [&](std::vector<std::string> more, const std::string& message) {
    std::vector<std::string> arguments = {"audit", "--delta", "1e-5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Bad{arguments, message};
  };
  for (const Bad& bad : {
           profile({}, "--epsilons: give --epsilons LIST, --deltas LIST or --trade-off"),
           profile({"--epsilons", "1", "--deltas", "0.1"},
                   "--deltas: must not be given with --epsilons"),
           profile({"--epsilons", "1,x"},
                   "--epsilons: must be numbers or FROM:TO:COUNT between commas, got x"),
           profile({"--epsilons", "1,,2"},
                   "--epsilons: must be numbers or FROM:TO:COUNT between commas, got \"\""),
           profile({"--epsilons", "1,-2"}, "--epsilons: must be finite and >= 0, got -2"),
           profile({"--epsilons", "nan"}, "--epsilons: must be finite and >= 0, got nan"),
           profile({"--epsilons", "0:1"},
                   "--epsilons: a range must be FROM:TO:COUNT with a count in [2, 1000], got 0:1"),
           profile(
               {"--epsilons", "0:1:1001"},
               "--epsilons: a range must be FROM:TO:COUNT with a count in [2, 1000], got 0:1:1001"),
           profile({"--epsilons", "0:1:600,0:1:600"},
                   "--epsilons: must have at most 1000 numbers, got 1200"),
           profile({"--deltas", "0:0.1:5"}, "--deltas: must be in (0, 1), got 0"),
           profile({"--trade-off", "--alphas", "1.5"}, "--alphas: must be in [0, 1], got 1.5"),
           profile({"--epsilons", "1", "--alphas", "0.5"}, "--alphas: is for --trade-off only"),
           profile({"--epsilons", "1", "--priors", "1"}, "--priors: must be in (0, 1), got 1"),
           profile({"--epsilons", "1", "--gaussian-fit", "1"},
                   "--gaussian-fit: must be in (0, 0.99), got 1"),
           profile({"--epsilons", "1", "--plot"}, "no flag --plot of profile"),
           profile({"--epsilons", "1", "--svg", "p.svg"}, "no flag --svg of profile"),
           audit({},
                 "--canaries: give --canaries, --guesses and --correct, or --runs-with, "
                 "--detected-with, --runs-without and --detected-without"),
           audit({"--canaries", "10", "--guesses", "5"}, "--canaries: give --canaries, "),
           audit({"--canaries", "10", "--guesses", "11", "--correct", "1"},
                 "--guesses: must be at most --canaries, 10, got 11"),
           audit({"--canaries", "10", "--guesses", "5", "--correct", "6"},
                 "--correct: must be at most --guesses, 5, got 6"),
           audit({"--canaries", "0", "--guesses", "5", "--correct", "6"},
                 "--canaries: must be a whole number in [1, 2^53], got 0"),
           audit({"--canaries", "10", "--guesses", "5", "--correct", "5", "--confidence", "1"},
                 "--confidence: must be in (0, 1), got 1"),
           audit({"--canaries", "10", "--guesses", "5", "--correct", "5", "--ledger", "x"},
                 "--server: must be given as host:port"),
       }) {
    const RunResult result = Dpledger(bad.arguments);
    EXPECT_EQ(result.exit_code, 2) << bad.message;
    EXPECT_THAT(result.err, HasSubstr(bad.message));
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST(ProfileUsage, HelpLeadsWithExamples) {
  for (const char* command : {"profile", "audit"}) {
    const RunResult result = Dpledger({command, "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_LT(result.out.find("  dpledger "), result.out.find("Usage:")) << result.out;
  }
}

}  // namespace
}  // namespace dpledger::testing
