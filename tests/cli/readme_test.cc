// The console blocks of the README and the docs that are marked for it are run, and print what is
// shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/cli/process.h"
#include "tests/cli/server_process.h"

namespace dpledger::testing {
namespace {

constexpr char kMarker[] = "<!-- run by tests/cli/readme_test.cc -->\n```console\n";

struct Step {
  std::string command;
  std::vector<std::string> shown;
};

// The blocks' lines: "$ command", then what it prints.
std::vector<Step> MarkedSteps(const std::string& readme) {
  std::vector<Step> steps;
  const std::vector<std::string> parts = absl::StrSplit(readme, kMarker);
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string block = parts[i].substr(0, parts[i].find("```"));
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(block, '\n'))) {
      if (absl::StartsWith(line, "$ ")) {
        steps.push_back({line.substr(2), {}});
      } else if (!line.empty() && !steps.empty()) {
        steps.back().shown.push_back(line);
      }
    }
  }
  return steps;
}

// Letter by letter; "…" stands for any letters: roots, keys, addresses and the version.
bool Matches(const std::string& shown, const std::string& printed) {
  const std::vector<std::string> parts = absl::StrSplit(shown, "…");
  if (parts.size() == 1) return shown == printed;
  if (!absl::StartsWith(printed, parts.front())) return false;
  size_t at = parts.front().size();
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    at = printed.find(parts[i], at);
    if (at == std::string::npos) return false;
    at += parts[i].size();
  }
  return printed.size() >= at + parts.back().size() && absl::EndsWith(printed, parts.back());
}

TEST(ReadmeMatches, NoticesEveryLetterButWhatIsLeftOpen) {
  EXPECT_TRUE(Matches("epsilon  6.19 in [6.18, 6.19]", "epsilon  6.19 in [6.18, 6.19]"));
  EXPECT_TRUE(Matches("root …", "root 00ff"));
  EXPECT_TRUE(Matches("root … at …, signed", "root 00ff at 7, signed"));
  EXPECT_FALSE(Matches("epsilon  6.19", "epsilon 6.19"));
  EXPECT_FALSE(Matches("epsilon 6.19", "epsilon 6.190001"));
  EXPECT_FALSE(Matches("epsilon 6.19", "epsilon 6.18"));
  EXPECT_FALSE(Matches("state OPEN", "state SEALED"));
  EXPECT_FALSE(Matches("size 2 now", "size 2"));
  EXPECT_FALSE(Matches("size 2", "size 2 now"));
  EXPECT_FALSE(Matches("root … at 7", "root 00ff at 8"));
  EXPECT_FALSE(Matches("… aba", "ba"));
}

void RunMarked(const std::string& page, size_t least) {
  const char* root = std::getenv("DPLEDGER_SOURCE");
  ASSERT_NE(root, nullptr);
  std::ostringstream text;
  text << std::ifstream(absl::StrCat(root, "/", page)).rdbuf();
  const std::vector<Step> steps = MarkedSteps(text.str());
  ASSERT_GE(steps.size(), least);

  const ServerProcess server;
  const TemporaryFolder folder;
  const std::string path = BinaryPath("") + ":" + std::getenv("PATH");
  for (const Step& step : steps) {
    const RunResult result =
        RunProgram({"/bin/bash", "-c", absl::StrCat("cd ", folder.path(), "\n", step.command)},
                   {{"PATH", path},
                    {"SERVER", server.address()},
                    {"HTTP", server.http_address()},
                    {"LC_ALL", "C.UTF-8"}});
    EXPECT_EQ(result.exit_code, 0) << step.command << "\n" << result.err;
    const std::vector<std::string> printed = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
    ASSERT_EQ(printed.size(), step.shown.size()) << step.command << "\n" << result.out;
    for (size_t i = 0; i < printed.size(); ++i) {
      EXPECT_TRUE(Matches(step.shown[i], printed[i]))
          << step.command << "\nshown:   " << step.shown[i] << "\nprinted: " << printed[i];
    }
  }
}

TEST(Readme, MarkedCommandsPrintWhatItShows) { RunMarked("README.md", 5); }

TEST(Docs, MarkedCommandsOfProfilesPrintWhatItShows) { RunMarked("docs/profiles.md", 5); }

TEST(Docs, MarkedCommandsOfChecksPrintWhatItShows) { RunMarked("docs/checks.md", 5); }

TEST(Docs, MarkedCommandsOfHttpPrintWhatItShows) { RunMarked("docs/http.md", 5); }

TEST(Docs, MarkedCommandsOfJsonPrintWhatItShows) { RunMarked("docs/json.md", 1); }

TEST(Docs, MarkedCommandsOfRecomputePrintWhatItShows) { RunMarked("docs/recompute.md", 5); }

TEST(Docs, MarkedCommandsOfStatementsPrintWhatItShows) { RunMarked("docs/statements.md", 5); }

TEST(Docs, MarkedCommandsOfTuningPrintWhatItShows) { RunMarked("docs/tuning.md", 5); }

class Strategies : public ::testing::TestWithParam<const char*> {};

TEST_P(Strategies, MarkedCommandsPrintWhatItShows) {
  RunMarked(absl::StrCat("docs/strategies/", GetParam(), ".md"), 2);
}

INSTANTIATE_TEST_SUITE_P(Docs, Strategies,
                         ::testing::Values("README", "adaptive-mean-norm", "adaptive-quantile",
                                           "automatic", "dp-ftrl", "flat", "joint", "microbatches",
                                           "per-group"));

}  // namespace
}  // namespace dpledger::testing
