// The example trainer run for real against a real server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "absl/time/clock.h"
#include "base/file.h"
#include "tests/fault/crashing_server.h"

namespace dpledger::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DpSgd : public ::testing::Test {
 protected:
  std::vector<std::string> Command(const std::string& ledger, std::vector<std::string> more) {
    std::vector<std::string> arguments = {BinaryPath("dp_sgd"), "--server", server_.address(),
                                          "--ledger",           ledger,     "--spool",
                                          folder_.File(ledger)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::vector<v1::LedgerEntry> Entries(const std::string& ledger) {
    return ReadLedger(server_.address(), "projects/default/ledgers/" + ledger);
  }

  TemporaryFolder folder_;
  CrashingServer server_;
};

// The number after `label` in what a run printed.
double NumberAfter(const std::string& text, const std::string& label) {
  std::smatch match;
  const bool found = std::regex_search(text, match, std::regex(label + R"(\D*([0-9.]+))"));
  EXPECT_TRUE(found) << label << " is not in: " << text;
  return found ? std::stod(match[1]) : -1;
}

TEST_F(DpSgd, KeepsTheTargetThatItsNoiseWasCalibratedFor) {
  const RunResult run =
      RunProgram(Command("target", {"--target-epsilon", "1", "--delta", "1e-5", "--steps", "60"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("(calibrated by the server)"),
                             HasSubstr("steps              60 of 60"),
                             HasSubstr("ledger             projects/default/ledgers/target"),
                             HasSubstr("entries            123, root ")));
  std::smatch epsilon;
  ASSERT_TRUE(std::regex_search(run.out, epsilon,
                                std::regex(R"(epsilon +\[([0-9.]+), ([0-9.]+)\] at delta 1e-05)")))
      << run.out;
  EXPECT_LE(std::stod(epsilon[2]), 1.0);
  EXPECT_GE(std::stod(epsilon[1]), 0.99);
  EXPECT_GT(NumberAfter(run.out, "held-out accuracy"), 0.6);
  // No progress in a pipe.
  EXPECT_EQ(run.err, "");
}

TEST_F(DpSgd, WritesDeclarationRoundsAndEnd) {
  ASSERT_EQ(RunProgram(Command("small", {"--noise-multiplier", "1.5", "--steps", "3"})).exit_code,
            0);
  const std::vector<v1::LedgerEntry> entries = Entries("small");
  ASSERT_EQ(entries.size(), 2u + 2 * 3 + 1);  // with OPENED
  EXPECT_EQ(entries[0].declaration().dataset(), "synthetic");
  EXPECT_EQ(entries[0].declaration().planned_rounds(), 3u);
  EXPECT_EQ(entries[0].declaration().parameters(), v1::FIXED);
  for (size_t i = 2; i + 1 < entries.size(); i += 2) {
    EXPECT_EQ(entries[i].event().sampling().scheme().population_size(), 15910u);
    const v1::SumQuery& query = entries[i + 1].event().sum_query().query();
    EXPECT_EQ(query.noise(), v1::ROUNDED_GAUSSIAN);
    EXPECT_GE(query.noise_stddev() / query.l2_norm_bound(), 1.5);
    EXPECT_THAT(query.group(), Not(HasSubstr("TEST MODE")));
  }
  EXPECT_TRUE(entries.back().has_writer_closed());
}

TEST_F(DpSgd, StopsAfterTheStepOnCtrlC) {
  const std::string log = folder_.File("log");
  const pid_t trainer =
      StartProgram(Command("stopped", {"--noise-multiplier", "1.5", "--steps", "1000000"}), log);
  const auto said = [&] {
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    return text.str();
  };
  while (said().find("1000000 steps\n") == std::string::npos) {
    ASSERT_EQ(kill(trainer, 0), 0);
    absl::SleepFor(absl::Milliseconds(5));
  }
  // A round is recorded: stopped before its first step, the run would have no plan to price.
  while (Entries("stopped").size() < 3) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(StopProgram(trainer, SIGINT), 130);
  EXPECT_THAT(said(),
              AllOf(HasSubstr("stopping once this step is done; Ctrl-C again ends at once\n"),
                    HasSubstr(" of 1000000 steps; closing this writer's part of the ledger"),
                    HasSubstr("epsilon, planned")));
  const auto steps = static_cast<size_t>(NumberAfter(said(), "stopped after"));
  EXPECT_EQ(Entries("stopped").size(), 3 + 2 * steps);
}

TEST_F(DpSgd, ReadsCsvBySchema) {
  std::string csv;
  for (int i = 0; i < 1000; ++i) csv += i % 3 == 0 ? "7, a, yes\n" : "1, b, no\n";
  const std::string data = folder_.Write("toy.csv", csv);
  const std::string schema = folder_.Write("toy.json", R"({"rows": 1000, "columns": [
      {"name": "x", "kind": "number", "minimum": 0, "maximum": 10},
      {"name": "c", "kind": "category", "values": ["a", "b"]},
      {"name": "y", "kind": "label", "values": ["no", "yes"]}]})");
  const std::vector<std::string> flags = {"--data",  data,  "--schema",           schema,
                                          "--steps", "100", "--noise-multiplier", "1",
                                          "--model", "mlp", "--hidden",           "4"};
  const RunResult run = RunProgram(Command("csv", flags));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(NumberAfter(run.out, "held-out accuracy"), 1);
  EXPECT_EQ(Entries("csv")[0].declaration().dataset(), "toy.csv");

  folder_.Write("toy.csv", csv + "1, c, no\n");
  const RunResult bad = RunProgram(Command("bad-csv", flags));
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.err, HasSubstr("toy.csv: line 1001, column \"c\": \"c\" is not among the "
                                 "schema's values"));
  // The file's own number of records is a secret.
  folder_.Write("toy.csv", csv);
  folder_.Write("toy.json", R"({"columns": [
      {"name": "x", "kind": "number", "minimum": 0, "maximum": 10},
      {"name": "c", "kind": "category", "values": ["a", "b"]},
      {"name": "y", "kind": "label", "values": ["no", "yes"]}]})");
  const RunResult uncounted = RunProgram(Command("uncounted", flags));
  EXPECT_EQ(uncounted.exit_code, 1);
  EXPECT_THAT(uncounted.err, HasSubstr("--population: must be given, or \"rows\" in the schema"));
}

TEST_F(DpSgd, SaysWhatIsWrongWithAFlag) {
  struct Case {
    std::vector<std::string> flags;
    int exit_code;
    const char* message;
  };
  for (const Case& bad :
       {Case{{}, 2, "Exactly 1 option from [--noise-multiplier,--target-epsilon] is required"},
        Case{{"--target-epsilon", "1", "--noise-multiplier", "1"}, 2, "noise"},
        Case{{"--noise-multiplier", "nan"},
             2,
             "--noise-multiplier: must be 0.001 to 1e+06, got nan"},
        Case{{"--noise-multiplier", "1", "--delta", "1"}, 2, "--delta: must be in (0, 1), got 1"},
        Case{{"--noise-multiplier", "1", "--policy", "never"}, 2, "--policy: never not in"},
        Case{{"--noise-multiplier", "1", "--batch-size", "16000"},
             1,
             "--batch-size: must be at most the training population, 15910, got 16000"}}) {
    const RunResult run = RunProgram(Command("flags", bad.flags));
    EXPECT_EQ(run.exit_code, bad.exit_code) << run.err;
    EXPECT_THAT(run.out + run.err, HasSubstr(bad.message));
  }
}

TEST_F(DpSgd, SaysThatTheServerIsAway) {
  server_.Kill();
  const RunResult run = RunProgram(Command("away", {"--target-epsilon", "1"}));
  EXPECT_EQ(run.exit_code, 6);
  EXPECT_THAT(run.err, HasSubstr("dp_sgd: UNAVAILABLE: "));
  server_.Start();
}

}  // namespace
}  // namespace dpledger::testing
