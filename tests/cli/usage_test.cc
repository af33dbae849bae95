// Flags that do not parse, or lie outside their domain: exit code 2, the flag and its rule, nothing
// read or sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/events.h"
#include "tests/cli/json_object.h"
#include "tests/cli/process.h"

namespace dpledger::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct BadCommand {
  std::vector<std::string> arguments;
  std::string message;
};

std::vector<BadCommand> BadCommands() {
  const std::string f = "no-such-file.jsonl";  // a bad flag is found before the file is opened
  const auto epsilon = [&](const std::string& delta) {
    return BadCommand{{"epsilon", "--events", f, "--delta", delta},
                      "--delta: must be in [0, 1), got " + delta};
  };
  const auto calibrate = [](std::vector<std::string> more, const std::string& message) {
    std::vector<std::string> arguments = {"calibrate", "--epsilon", "1", "--delta", "1e-6"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return BadCommand{arguments, message};
  };
  const auto tuning = [&](std::vector<std::string> more, const std::string& message) {
    std::vector<std::string> arguments = {"tuning", "--events", f, "--delta", "1e-6"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return BadCommand{arguments, message};
  };
  const std::string server = "127.0.0.1:1";
  return {
      {{}, "a command is missing"},
      {{"guess"}, "no command guess\n"},
      {{"ledger"}, "a command is missing"},
      {{"spool"}, "a command is missing"},
      {{"ledger", "erase", "x"}, "no command ledger erase\n"},
      // A mistyped word gets the nearest one; the flag that is then missing is not complained of.
      {{"epsilom", "--delta", "1e-5"}, "no command epsilom; did you mean epsilon?"},
      {{"ledger", "shwo", "x"}, "no command ledger shwo; did you mean ledger show?"},
      {{"show", "x"}, "no command show; did you mean ledger show?"},
      {{"ledger", "epsilon"}, "no command ledger epsilon; did you mean epsilon?"},
      {{"epsilon", "--detla", "1e-5"}, "no flag --detla of epsilon; did you mean --delta?"},
      {{"epsilon", "--detla=1e-5"}, "no flag --detla of epsilon; did you mean --delta?"},
      {{"epsilon", "-delta", "1e-5"}, "no flag -delta of epsilon; did you mean --delta?"},
      {{"epsilon", "--quantum", "1"}, "no flag --quantum of epsilon\n"},
      {{"--jsno", "epsilon"}, "no flag --jsno\n"},
      {{"epsilon", f, "--delta", "1e-5"}, "one word too many: " + f},
      {{"epsilon", "--events", f}, "--delta is required"},
      epsilon("1"),
      epsilon("-1e-5"),
      epsilon("nan"),
      epsilon("inf"),
      {{"epsilon", "--events", f, "--delta", "tiny"},
       "--delta: must be a number, or a quotient of two, got tiny"},
      {{"epsilon", "--delta", "1e-5"},
       "a question needs a run: give --noise-multiplier, --steps and --sampling-probability, or "
       "--events FILE, or --store PATH, or --server HOST:PORT with --ledger NAME"},
      {{"epsilon", "--delta", "1e-5", "--server", server, "--ledger", "x", "--dataset", "y"},
       "--ledger: must not be given with --dataset"},
      {{"epsilon", "--delta", "1e-5", "--events", f, "--server", server},
       "--ledger: must be given with --server"},
      {{"epsilon", "--delta", "1e-5", "--server", server}, "--ledger: must be given with --server"},
      {{"epsilon", "--delta", "1e-5", "--ledger", "x"}, "--server: must be given as host:port"},
      {{"epsilon", "--delta", "1e-5", "--noise-multiplier", "1", "--steps", "10", "--events", f},
       "--noise-multiplier: must not be given with --events"},
      {{"delta", "--epsilon", "1", "--sampling-probability", "1", "--server", server, "--ledger",
        "x"},
       "--noise-multiplier: must be given with --sampling-probability"},
      {{"epsilon", "--delta", "1e-5", "--noise-multiplier", "1"},
       "--steps: must be given with --noise-multiplier"},
      {{"epsilon", "--delta", "1e-5", "--steps", "3"},
       "--noise-multiplier: must be given with --steps"},
      {{"epsilon", "--delta", "1e-5", "--noise-multiplier", "0", "--steps", "3"},
       "--noise-multiplier: must be finite and > 0, got 0"},
      {{"epsilon", "--delta", "1e-5", "--noise-multiplier", "1", "--steps", "3",
        "--sampling-probability", "1.5"},
       "--sampling-probability: must be in (0, 1], got 1.5"},
      {{"epsilon", "--delta", "1e-5", "--server", "localhost", "--ledger", "x"},
       "--server: must be host:port, got localhost"},
      {{"epsilon", "--delta", "1e-5", "--server", server, "--ledger", "No Name"}, "--ledger: "},
      {{"epsilon", "--events", f, "--delta", "1e-5", "--method", "guess"},
       "--method: must be one of best contour gaussian pld rdp, got guess"},
      {{"epsilon", "--events", f, "--delta", "1e-5", "--adjacency", "near"},
       "--adjacency: must be"},
      {{"epsilon", "--events", f, "--delta", "1e-5", "--parameters", "some"},
       "--parameters: must be one of adaptive fixed, got some"},
      {{"epsilon", "--events", f, "--delta", "1e-5", "--relative-gap", "0"},
       "--relative-gap: must be in [1e-9, 1], got 0"},
      {{"epsilon", "--events", f, "--delta", "1e-5", "--unknown"}, "--unknown"},
      {{"delta", "--events", f, "--epsilon", "-0.5"},
       "--epsilon: must be finite and >= 0, got -0.5"},
      {{"delta", "--events", f, "--epsilon", "inf"}, "--epsilon: must be finite and >= 0, got inf"},
      {{"delta", "--events", f, "--epsilon", "nan"}, "--epsilon: must be finite and >= 0, got nan"},
      {{"calibrate", "--epsilon", "0", "--delta", "1e-6", "--solve", "steps", "--noise-multiplier",
        "1", "--sampling-probability", "1"},
       "--epsilon: must be finite and > 0, got 0"},
      calibrate({"--solve", "luck"}, "--solve: must be one of"),
      calibrate({"--solve", "noise-multiplier", "--sampling-probability", "0.1"},
                "--steps: must be given"),
      calibrate({"--solve", "steps", "--steps", "10", "--noise-multiplier", "1",
                 "--sampling-probability", "0.1"},
                "--steps: is what is sought"),
      calibrate({"--solve", "steps", "--noise-multiplier", "0", "--sampling-probability", "0.1"},
                "--noise-multiplier: must be finite and > 0, got 0"),
      calibrate({"--solve", "steps", "--noise-multiplier", "-1", "--sampling-probability", "0.1"},
                "--noise-multiplier: must be finite and > 0, got -1"),
      calibrate({"--solve", "steps", "--noise-multiplier", "1", "--sampling-probability", "1.5"},
                "--sampling-probability: must be in (0, 1], got 1.5"),
      calibrate({"--solve", "noise-multiplier", "--sampling-probability", "0.1", "--steps", "0"},
                "--steps: must be a whole number in [1, 2^53], got 0"),
      calibrate({"--solve", "noise-multiplier", "--sampling-probability", "0.1", "--steps",
                 "9007199254740993"},
                "--steps: must be a whole number in [1, 2^53], got 9007199254740993"),
      calibrate({"--solve", "noise-multiplier", "--sampling-probability", "0.1", "--steps", "1.5"},
                "--steps: must be a whole number in [1, 2^53], got 1.5"),
      tuning({"--trials", "many", "--mean-trials", "2"}, "--trials: must be one of"),
      tuning({"--trials", "negative-binomial", "--mean-trials", "2"}, "--eta: must be given"),
      tuning({"--trials", "poisson", "--mean-trials", "2", "--eta", "1"},
             "--eta: is for --trials negative-binomial only"),
      tuning({"--trials", "negative-binomial", "--eta", "-1", "--mean-trials", "2"},
             "--eta: must be finite and > -1, got -1"),
      tuning({"--trials", "negative-binomial", "--eta", "1", "--mean-trials", "1"},
             "--mean-trials: must be > 1, got 1"),
      tuning({"--trials", "poisson", "--mean-trials", "0"},
             "--mean-trials: must be finite and > 0, got 0"),
      tuning({"--trials", "poisson", "--mean-trials", "2e15"},
             "--mean-trials: must be <= 1e15, got 2e+15"),
      tuning({"--trials", "binomial", "--mean-trials", "2"},
             "--most-trials: must be given for --trials binomial"),
      tuning({"--trials", "binomial", "--mean-trials", "5", "--most-trials", "4"},
             "--mean-trials: must be <= --most-trials, got 5"),
      tuning({"--trials", "poisson", "--mean-trials", "2", "--most-trials", "4"},
             "--most-trials: is for --trials binomial only"),
      tuning({"--trials", "least-cost", "--mean-trials", "1"}, "--mean-trials: must be > 1, got 1"),
      tuning({"--trials", "least-cost", "--mean-trials", "5", "--at-most-one-probability", "0"},
             "--at-most-one-probability: must be in (0, 1], got 0"),
      tuning({"--trials", "poisson", "--mean-trials", "5", "--at-most-one-probability", "0.5"},
             "--at-most-one-probability: is for --trials least-cost only"),
      tuning({"--trials", "fixed", "--mean-trials", "2.5"},
             "--mean-trials: must be a whole number in [1, 2^53]"),
      {{"ledger", "create", "x", "--server", server, "--unit", "example"}, "--dataset is required"},
      {{"ledger", "create", "x", "--server", server, "--dataset", "", "--unit", "example"},
       "--dataset: must not be empty"},
      {{"ledger", "create", "x", "--server", server, "--dataset", "caf\xe9", "--unit", "example"},
       "--dataset: must be UTF-8"},
      {{"ledger", "create", "x", "--server", server, "--dataset", "mnist ", "--unit", "example"},
       "--dataset: must not begin or end with white space, got \"mnist \""},
      {{"ledger", "create", "x", "--server", server, "--dataset", "d", "--unit", "\texample"},
       "--unit: must not begin or end with white space, got \"⟨U+0009⟩example\""},
      {{"ledger", "create", "x", "--server", server, "--dataset", "d", "--unit", "u"},
       "--adjacency: must be given: what makes two data sets neighbours\n  add-or-remove-one "},
      {{"ledger", "create", "x", "--server", server, "--dataset", "d", "--unit", "u", "--adjacency",
        "zero-out"},
       "--parameters: must be given: when the parameters were decided\n  fixed "},
      {{"ledger", "verify", f, "--group-size", "2"},
       "--group-size: is for the epsilon at --delta or the delta at --epsilon"},
      {{"ledger", "create", "X!", "--server", server, "--dataset", "d", "--unit", "u"}, "NAME: "},
      {{"ledger", "create", "x", "--server", server, "--dataset", "d", "--unit", "u",
        "--planned-rounds", "-3"},
       "--planned-rounds: must be a whole number in [1, 2^53], got -3"},
      {{"ledger", "append", "x", "--server", server, "--events", f, "--request-id", "a b"},
       "--request-id: must be 1 to 48 of A-Z a-z 0-9 . _ -, got a b"},
      {{"ledger", "append", "x", "--server", server}, "--events is required"},
      {{"ledger", "show", "--server", server}, "NAME is required"},
      {{"ledger", "list"}, "--server: must be given as host:port"},
      {{"ledger", "export", "x", "--server", server, "--output", ""},
       "--output: must not be empty"},
      {{"ledger", "list", "--server", ""}, "--server: must not be empty"},
  };
}

TEST(Usage, BadFlagsEndWithTwoAndNameTheFlagAndItsRule) {
  for (const BadCommand& bad : BadCommands()) {
    const RunResult result = Dpledger(bad.arguments);
    EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(bad.arguments);
    EXPECT_THAT(result.err, HasSubstr(bad.message)) << ::testing::PrintToString(bad.arguments);
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST(Usage, WithJsonTheErrorIsOneObjectOnStdoutToo) {
  const RunResult result = Dpledger({"epsilon", "--delta", "2", "--events", "f", "--json"});
  EXPECT_EQ(result.exit_code, 2);
  const JsonObject error(result.out);
  EXPECT_EQ(error.Text("error.code"), "INVALID_ARGUMENT");
  EXPECT_EQ(error.Text("error.message"), "--delta: must be in [0, 1), got 2");
  EXPECT_EQ(result.err, "dpledger: --delta: must be in [0, 1), got 2\n");
}

TEST(Usage, CalibrationOfAnotherSchemeIsARefusalNotAWrongFlag) {
  const RunResult result =
      Dpledger({"calibrate", "--epsilon", "1", "--delta", "1e-6", "--solve", "noise-multiplier",
                "--batch-size", "10", "--population", "100", "--steps", "10", "--scheme",
                "disjoint-batches", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const JsonObject error(result.out);
  EXPECT_EQ(error.Text("error.code"), "FAILED_PRECONDITION");
  EXPECT_THAT(error.Text("error.message"), HasSubstr("disjoint_batches"));
}

TEST(Usage, HelpLeadsWithExamples) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{},
                                             {"epsilon"},
                                             {"delta"},
                                             {"calibrate"},
                                             {"tuning"},
                                             {"ledger"},
                                             {"ledger", "create"},
                                             {"ledger", "verify"},
                                             {"spool"},
                                             {"ledger", "append"}}) {
    std::vector<std::string> arguments = command;
    arguments.push_back("--help");
    const RunResult result = Dpledger(arguments);
    EXPECT_EQ(result.exit_code, 0);
    const size_t example = result.out.find("  dpledger ");
    EXPECT_LT(example, result.out.find("Usage:")) << result.out;
  }
}

TEST(Usage, NoWordOfTheCallersBeginsALineOfAnError) {
  const RunResult result = Dpledger({"ledger", "show", "x\ndpledger: it is sealed\x1b[1m"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("\n  dpledger: it is sealed⟨U+001B⟩[1m"));
}

TEST(Usage, LostOutputIsAFailure) {
  for (const std::string command :
       {"dpledger --help", "dpledger --version", "dpledger epsilon --help",
        "dpledger-server --help", "dpledger epsilon --noise-multiplier 1 --steps 1 --delta 1e-6"}) {
    for (const char* const lost : {" > /dev/full", " >&-"}) {
      const std::string line = BinaryPath("") + command + lost;
      EXPECT_NE(RunProgram({"/bin/sh", "-c", line}).exit_code, 0) << line;
    }
    EXPECT_EQ(RunProgram({"/bin/sh", "-c", BinaryPath("") + command}).exit_code, 0);
  }
}

}  // namespace
}  // namespace dpledger::testing
