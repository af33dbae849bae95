// Event files that are torn or hold what is not an event: exit code 1 and FILE:LINE, the field and
// its rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/cli/events.h"
#include "tests/cli/json_object.h"
#include "tests/cli/process.h"

namespace dpledger::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct BadLine {
  std::string line;
  std::string message;
  std::string code = "INVALID_ARGUMENT";
};

std::string Query(const std::string& fields) {
  return R"({"sumQuery":{"round":"3","query":{)" + fields + "}}}";
}
std::string Nested(int levels) {
  std::string line = R"({"gaussian":{"noiseMultiplier":1}})";
  for (int i = 0; i < levels; ++i) line = R"({"composed":{"events":[)" + line + "]}}";
  return R"({"mechanism":)" + line + "}";
}

std::vector<BadLine> BadLines() {
  const std::string stddev = "sum_query.query.noise_stddev: must be finite and > 0";
  const std::string bound = "sum_query.query.l2_norm_bound: must be finite and > 0";
  const std::string torn = PoissonRounds("0.01", "1", "5");
  return {
      {Query(R"("l2NormBound":1,"noiseStddev":0)"), stddev},
      {Query(R"("l2NormBound":1,"noiseStddev":-1)"), stddev},
      {Query(R"("l2NormBound":1,"noiseStddev":"NaN")"), stddev},
      {Query(R"("l2NormBound":1,"noiseStddev":"Infinity")"), stddev},
      {Query(R"("l2NormBound":0,"noiseStddev":1)"), bound},
      {Query(R"("l2NormBound":-2,"noiseStddev":1)"), bound},
      {Query(R"("l2NormBound":"-Infinity","noiseStddev":1)"), bound},
      {PoissonRounds("0", "1", "5"), "rounds.scheme.poisson.probability: must be in (0, 1], got 0"},
      {PoissonRounds("1.5", "1", "5"), "rounds.scheme.poisson.probability: must be in (0, 1]"},
      {PoissonRounds("-0.1", "1", "5"), "rounds.scheme.poisson.probability: must be in (0, 1]"},
      {PoissonRounds("\"NaN\"", "1", "5"), "rounds.scheme.poisson.probability: must be in (0, 1]"},
      {PoissonRounds("0.5", "1", "0"), "rounds.count: must be in [1, 2^53], got 0"},
      {PoissonRounds("0.5", "1", "9007199254740993"), "rounds.count: must be in [1, 2^53]"},
      {R"({"rounds":{"scheme":{"fullBatch":{}},"count":"1"}})",
       "rounds.queries: must hold at least"},
      {R"({"rounds":{"queries":[{"l2NormBound":1,"noiseStddev":1}],"count":"1"}})",
       "rounds.scheme: must be set"},
      {R"({"mechanism":{"gaussian":{"noiseMultiplier":0}}})",
       "mechanism.gaussian.noise_multiplier: must be finite and > 0, got 0"},
      {Nested(40), "mechanism."},
      {"{}", "kind: must be set"},
      {R"({"mechanism":{"gauss":{"noiseMultiplier":1}}})", "not an event in proto JSON: "},
      {R"({"mechanism":{"gaussian":{"noiseMultiplier":1,"extra":1}}})",
       "not an event in proto JSON"},
      {torn.substr(0, torn.size() / 2), "not an event in proto JSON: "},
      {std::string(4, '\0'), "not an event in proto JSON: "},
      {"\xff\xfe{}", "not an event in proto JSON: "},
      {"[1]", "not an event in proto JSON: "},
      {SamplingLine(6), "sampling.round: must be at least 7, the last round, got 6",
       "FAILED_PRECONDITION"},
      {SamplingLine(7),
       "sampling.round: round 7 has begun already, a new sample needs a new number",
       "FAILED_PRECONDITION"},
      {SumQueryLine(6), "sum_query.round: must be at least 7, the last round, got 6",
       "FAILED_PRECONDITION"},
  };
}

TEST(EventFile, BadLineIsNamedWithItsFieldAndRule) {
  const TemporaryFolder folder;
  for (const BadLine& bad : BadLines()) {
    // The fault is in line 4, behind good lines and an empty one.
    const std::string file = folder.Write(
        "bad.jsonl", SamplingLine(7) + SumQueryLine(7) + "\n" + bad.line + "\n" + SumQueryLine(7));
    const RunResult result = Dpledger({"epsilon", "--events", file, "--delta", "1e-5", "--json"});
    EXPECT_EQ(result.exit_code, 1) << bad.line;
    const JsonObject error(result.out);
    EXPECT_EQ(error.Text("error.code"), bad.code) << bad.line;
    EXPECT_THAT(error.Text("error.message"), StartsWith(file + ":4: " + bad.message)) << bad.line;
  }
}

TEST(EventFile, WithoutTheFaultTheSameFileIsAnswered) {
  const TemporaryFolder folder;
  const std::string file =
      folder.Write("good.jsonl", SamplingLine(7) + SumQueryLine(7) + "\n" + SumQueryLine(7));
  const RunResult result = Dpledger({"epsilon", "--events", file, "--delta", "1e-5", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(JsonObject(result.out).Number("details.entries"), 3);
}

// Only the first line may begin with the mark.
TEST(EventFile, AByteOrderMarkAtTheStartIsPassedOver) {
  const TemporaryFolder folder;
  const std::string mark = "\xef\xbb\xbf";
  const std::string file = folder.Write("marked.jsonl", mark + SumQueryLine(0) + SumQueryLine(1));
  const RunResult result = Dpledger({"epsilon", "--events", file, "--delta", "1e-5", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(JsonObject(result.out).Number("details.entries"), 2);

  const std::string inside = folder.Write("inside.jsonl", SumQueryLine(0) + mark + SumQueryLine(1));
  const RunResult refused = Dpledger({"epsilon", "--events", inside, "--delta", "1e-5", "--json"});
  EXPECT_EQ(refused.exit_code, 1);
  const JsonObject error(refused.out);
  EXPECT_EQ(error.Text("error.code"), "INVALID_ARGUMENT");
  EXPECT_THAT(error.Text("error.message"), StartsWith(inside + ":2: "));
}

RunResult EpsilonOfStandardInput(const std::string& file) {
  return RunProgram({"/bin/bash", "-c",
                     BinaryPath("dpledger") + " epsilon --events - --delta 1e-5 --json < " + file});
}

TEST(EventFile, AMinusIsStandardInput) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("f.jsonl", SumQueryLine(0) + SumQueryLine(1));
  const RunResult piped = EpsilonOfStandardInput(file);
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_EQ(piped.out, Dpledger({"epsilon", "--events", file, "--delta", "1e-5", "--json"}).out);

  const RunResult wrong = EpsilonOfStandardInput(folder.Write("w.jsonl", SumQueryLine(0) + "{\n"));
  EXPECT_EQ(wrong.exit_code, 1);
  const JsonObject error(wrong.out);
  EXPECT_EQ(error.Text("error.code"), "INVALID_ARGUMENT");
  EXPECT_THAT(error.Text("error.message"), StartsWith("standard input:2: "));
}

TEST(EventFile, MissingAndEmptyFilesAreRefused) {
  const TemporaryFolder folder;
  const RunResult missing =
      Dpledger({"epsilon", "--events", folder.File("none.jsonl"), "--delta", "1e-5", "--json"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(JsonObject(missing.out).Text("error.code"), "NOT_FOUND");
  EXPECT_THAT(missing.err, HasSubstr("none.jsonl: No such file or directory"));

  const RunResult empty = Dpledger(
      {"epsilon", "--events", folder.Write("empty.jsonl", "\n"), "--delta", "1e-5", "--json"});
  EXPECT_EQ(empty.exit_code, 1);
  EXPECT_EQ(JsonObject(empty.out).Text("error.code"), "INVALID_ARGUMENT");
  EXPECT_THAT(empty.err, HasSubstr("empty.jsonl: holds no event"));

  const RunResult folder_given =
      Dpledger({"epsilon", "--events", folder.path(), "--delta", "1e-5", "--json"});
  EXPECT_EQ(folder_given.exit_code, 1);
}

// The program has opened the file once the pipe's other end opens, so it is past its start.
TEST(EventFile, InterruptEndsWith130) {
  const TemporaryFolder folder;
  const std::string pipe = folder.File("events.pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const pid_t pid = StartProgram(
      {BinaryPath("dpledger"), "epsilon", "--events", pipe, "--delta", "1e-5"}, folder.File("log"));
  const std::ofstream writer(pipe);
  EXPECT_EQ(StopProgram(pid, SIGINT), 130);
  std::string said;
  std::getline(std::ifstream(folder.File("log")), said);
  EXPECT_EQ(said, "interrupted; nothing was changed");
}

}  // namespace
}  // namespace dpledger::testing
