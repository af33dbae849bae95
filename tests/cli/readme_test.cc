// The console blocks of the README and the docs that are marked for it are run, and print what is
// shown. The README's list of what is missing is held against the sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/cli/process.h"
#include "tests/cli/server_process.h"

namespace dpledger::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
      } else if (!steps.empty() && absl::EndsWith(steps.back().command, "\\")) {
        absl::StrAppend(&steps.back().command, "\n", line);  // the command goes on
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

std::string ContentOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string SourcePath(const std::string& path) {
  const char* root = std::getenv("DPLEDGER_SOURCE");
  return absl::StrCat(root == nullptr ? "" : root, "/", path);
}

void RunMarked(const std::string& page, size_t least) {
  const std::vector<Step> steps = MarkedSteps(ContentOf(SourcePath(page)));
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

TEST(Readme, MarkedCommandsPrintWhatItShows) { RunMarked("README.md", 4); }

TEST(Docs, MarkedCommandsOfFirstStepsPrintWhatItShows) { RunMarked("docs/first-steps.md", 10); }

TEST(Docs, MarkedCommandsOfProfilesPrintWhatItShows) { RunMarked("docs/profiles.md", 5); }

TEST(Docs, MarkedCommandsOfChecksPrintWhatItShows) { RunMarked("docs/checks.md", 5); }

TEST(Docs, MarkedCommandsOfHttpPrintWhatItShows) { RunMarked("docs/http.md", 5); }

TEST(Docs, MarkedCommandsOfJsonPrintWhatItShows) { RunMarked("docs/json.md", 1); }

TEST(Docs, MarkedCommandsOfRecomputePrintWhatItShows) { RunMarked("docs/recompute.md", 6); }

TEST(Docs, MarkedCommandsOfStatementsPrintWhatItShows) { RunMarked("docs/statements.md", 10); }

TEST(Docs, MarkedCommandsOfTuningPrintWhatItShows) { RunMarked("docs/tuning.md", 5); }

class Strategies : public ::testing::TestWithParam<const char*> {};

TEST_P(Strategies, MarkedCommandsPrintWhatItShows) {
  RunMarked(absl::StrCat("docs/strategies/", GetParam(), ".md"), 2);
}

INSTANTIATE_TEST_SUITE_P(Docs, Strategies,
                         ::testing::Values("README", "adaptive-mean-norm", "adaptive-quantile",
                                           "automatic", "dp-ftrl", "flat", "joint", "microbatches",
                                           "per-group"));

// Where a file or a folder below `root` has a line that matches, as "PATH:LINE".
std::vector<std::string> Matching(const std::string& root, const std::string& place,
                                  const std::regex& pattern) {
  std::vector<std::string> files, found;
  const std::string path = root + place;
  if (std::filesystem::is_regular_file(path)) files.push_back(path);
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  if (files.empty()) found.push_back(place + " is not there");
  for (const std::string& file : files) {
    std::ifstream lines(file);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      if (std::regex_search(line, pattern))
        found.push_back(absl::StrCat(file.substr(root.size()), ":", number));
    }
  }
  return found;
}

// Each item of "What it does not do yet" ends with <!-- absent from PLACE PLACE: PATTERN -->. What
// contradicts an item: a line below one of the places that matches, in letters of either case.
std::vector<std::string> NoLongerAbsent(const std::string& readme, const std::string& root) {
  constexpr char kSection[] = "\n## What it does not do yet\n";
  const size_t begin = readme.find(kSection);
  if (begin == std::string::npos) return {"there is no such section"};
  const std::string section = readme.substr(begin, readme.find("\n## ", begin + 1) - begin);
  const std::vector<std::string> items = absl::StrSplit(section, "\n- ");
  std::vector<std::string> complaints;
  for (size_t i = 1; i < items.size(); ++i) {
    const std::string claim = items[i].substr(0, items[i].find('\n'));
    std::smatch mark;
    if (!std::regex_search(items[i], mark, std::regex("<!-- absent from ([^:]+): (.+) -->"))) {
      complaints.push_back(claim + ": says not where its absence shows");
      continue;
    }
    const std::regex pattern(mark.str(2), std::regex::ECMAScript | std::regex::icase);
    for (const std::string& place : std::vector<std::string>(absl::StrSplit(mark.str(1), ' ')))
      for (const std::string& found : Matching(root, place, pattern))
        complaints.push_back(absl::StrCat(claim, ": ", found));
  }
  return complaints;
}

TEST(Readme, WhatItDoesNotDoYetIsNotThere) {
  const std::string readme = ContentOf(SourcePath("README.md"));
  EXPECT_THAT(NoLongerAbsent(readme, SourcePath("")), IsEmpty());
}

TEST(Readme, NoticesWhatIsThereByNow) {
  const TemporaryFolder folder;
  const std::string root = folder.path() + "/";
  std::filesystem::create_directories(root + "proto/v1");
  std::ofstream(root + "proto/v1/a.proto") << "service A {\n  rpc SetBudget(B) returns (B);\n}\n";
  EXPECT_THAT(NoLongerAbsent("# A\n\n## What it does not do yet\n\n"
                             "- No teapots.\n  <!-- absent from proto/: teapot -->\n"
                             "- No budgets.\n  <!-- absent from proto/: rpc \\w*budget -->\n"
                             "- No pages.\n  <!-- absent from proto/v1/a.proto web/: ^page -->\n"
                             "- No promises.\n\n## B\n\n- Budgets.\n",
                             root),
              ElementsAre("No budgets.: proto/v1/a.proto:2", "No pages.: web/ is not there",
                          "No promises.: says not where its absence shows"));
  EXPECT_THAT(NoLongerAbsent("# A\n", root), ElementsAre("there is no such section"));
}

}  // namespace
}  // namespace dpledger::testing
