// Man pages and completions, as `man` and bash take them. What is there to be completed is read
// from --help, whose text CLI11 makes by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/cli/process.h"

namespace dpledger::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::string OutputOf(const std::string& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), BinaryPath(program));
  const RunResult result = RunProgram(arguments);
  EXPECT_EQ(result.exit_code, 0) << absl::StrJoin(arguments, " ") << result.err;
  return result.out;
}

class Completion : public ::testing::Test {
 protected:
  // What bash offers for the last of these words, by the function that `complete` knows.
  std::vector<std::string> Bash(const std::vector<std::string>& words) {
    const std::string& program = words[0];
    const std::string file = folder_.File(program + ".bash");
    if (!std::filesystem::exists(file))
      folder_.Write(program + ".bash", OutputOf(program, {"completion", "bash"}));
    std::string script = absl::StrCat("source ", file, "\ncd ", folder_.path(), "\nCOMP_WORDS=(");
    for (const std::string& word : words) absl::StrAppend(&script, " '", word, "'");
    absl::StrAppend(&script, ")\nCOMP_CWORD=", words.size() - 1,
                    "\nread -ra registered < <(complete -p ", program,
                    ")\n${registered[2]}\nprintf '%s\\n' \"${COMPREPLY[@]}\"");
    const RunResult result = RunProgram({"/bin/bash", "-u", "-c", script});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, IsEmpty());
    return absl::StrSplit(result.out, '\n', absl::SkipEmpty());
  }

  const TemporaryFolder folder_;
};

TEST_F(Completion, KnowsCommandsFlagsWordsAndFiles) {
  EXPECT_THAT(Bash({"dpledger", "led"}), ElementsAre("ledger"));
  EXPECT_THAT(Bash({"dpledger", "ledger", "se"}), ElementsAre("seal"));
  EXPECT_THAT(Bash({"dpledger", "ledger", "create", "--data"}), ElementsAre("--dataset"));
  EXPECT_THAT(Bash({"dpledger", "--data"}), IsEmpty());
  EXPECT_THAT(Bash({"dpledger", "epsilon", "--method", ""}),
              UnorderedElementsAre("best", "contour", "gaussian", "pld", "rdp"));
  EXPECT_THAT(Bash({"dpledger", "epsilon", "--method", "g"}), ElementsAre("gaussian"));
  EXPECT_THAT(Bash({"dpledger", "completion", ""}), ElementsAre("bash"));
  // Nothing completes a number.
  EXPECT_THAT(Bash({"dpledger", "epsilon", "--delta", ""}), IsEmpty());

  folder_.Write("run one.jsonl", "");
  std::filesystem::create_directory(folder_.File("runs"));
  EXPECT_THAT(Bash({"dpledger", "epsilon", "--events", "run"}),
              UnorderedElementsAre("run one.jsonl", "runs"));
  EXPECT_THAT(Bash({"dpledger-witness", "--token-file", "run"}),
              UnorderedElementsAre("run one.jsonl", "runs"));
  EXPECT_THAT(Bash({"dpledger-server", "backup", "--to", "run"}), ElementsAre("runs"));
  EXPECT_THAT(Bash({"dpledger-server", "--log-level", "w"}), ElementsAre("warning"));
  EXPECT_THAT(Bash({"dpledger-server", "re"}), UnorderedElementsAre("restore", "recover"));
  EXPECT_THAT(Bash({"dpledger-server", "fsck", "--j"}), ElementsAre("--json"));
  EXPECT_THAT(Bash({"dpledger-witness", "--print"}), ElementsAre("--print-key"));
}

// The commands below `path`, and its flags, as --help lists them.
struct Helped {
  std::vector<std::string> commands;
  std::set<std::string> flags;
};
Helped HelpOf(const std::string& program, std::vector<std::string> path) {
  path.push_back("--help");
  const std::string help = OutputOf(program, path);
  Helped helped;
  bool commands = false;
  static const std::regex flag("^  (?:-[a-z],)?(--[a-z0-9-]+).*");
  static const std::regex command("^  ([a-z][a-z-]*)( .*)?$");
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(help, '\n'))) {
    if (absl::StartsWith(line, "Subcommands:")) commands = true;
    std::smatch match;
    if (std::regex_match(line, match, flag)) helped.flags.insert(match[1]);
    if (commands && std::regex_match(line, match, command)) helped.commands.push_back(match[1]);
  }
  return helped;
}

TEST_F(Completion, KnowsWhatHelpListsOfEveryCommand) {
  int looked = 0;
  std::vector<std::vector<std::string>> paths = {{}};
  while (!paths.empty()) {
    const std::vector<std::string> path = paths.back();
    paths.pop_back();
    if (path == std::vector<std::string>{"serve"}) continue;  // the server's own help
    const Helped helped = HelpOf("dpledger", path);
    SCOPED_TRACE(absl::StrJoin(path, " "));
    std::vector<std::string> words = path;
    words.insert(words.begin(), "dpledger");
    words.push_back("-");
    std::set<std::string> offered;
    for (const std::string& flag : Bash(words)) {
      if (absl::StartsWith(flag, "--")) offered.insert(flag);
    }
    EXPECT_EQ(offered, helped.flags);
    if (!helped.commands.empty()) {
      words.back() = "";
      EXPECT_THAT(Bash(words), ::testing::UnorderedElementsAreArray(helped.commands));
    }
    for (const std::string& command : helped.commands) {
      paths.push_back(path);
      paths.back().push_back(command);
    }
    ++looked;
  }
  EXPECT_GT(looked, 20);
}

TEST_F(Completion, OfAnotherShellIsRefused) {
  for (const char* program : {"dpledger", "dpledger-server", "dpledger-witness"}) {
    const RunResult result = RunProgram({BinaryPath(program), "completion", "zsh"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("SHELL: zsh not in {bash}"));
    EXPECT_THAT(result.out, IsEmpty());
  }
}

// The page as `man` shows it, without warnings.
std::string Rendered(const std::string& program) {
  const TemporaryFolder folder;
  const std::string page = folder.Write("page", OutputOf(program, {"man"}));
  const RunResult result = RunProgram(
      {"/usr/bin/man", "--warnings=w", "--no-hyphenation", "--no-justification", "-l", page},
      {{"MANWIDTH", "400"}, {"LC_ALL", "C.UTF-8"}, {"MANPAGER", "cat"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  return result.out;
}

class ManPage : public ::testing::Test {
 protected:
  void SetUp() override {
    // Minimal images have a `man` that only says that it is not there.
    if (!std::filesystem::exists("/usr/bin/man") || !std::filesystem::exists("/usr/bin/nroff"))
      GTEST_SKIP() << "NOT RUN: man is not installed";
  }
};

TEST_F(ManPage, HasEveryCommandAndFlagOfHelp) {
  const std::string page = Rendered("dpledger");
  EXPECT_THAT(page, HasSubstr("DPLEDGER(1)"));
  std::vector<std::vector<std::string>> paths = {{}};
  while (!paths.empty()) {
    const std::vector<std::string> path = paths.back();
    paths.pop_back();
    if (path == std::vector<std::string>{"serve"}) continue;
    const std::string title =
        path.empty() ? "\nOPTIONS\n" : absl::StrCat("\n   dpledger ", absl::StrJoin(path, " "));
    const size_t begin = page.find(title);
    ASSERT_NE(begin, std::string::npos) << title;
    // Up to the next title.
    const std::string section = page.substr(begin, page.find("\n   dpledger ", begin + 1) - begin);
    const Helped helped = HelpOf("dpledger", path);
    for (const std::string& flag : helped.flags) EXPECT_THAT(section, HasSubstr(flag)) << title;
    for (const std::string& command : helped.commands) {
      paths.push_back(path);
      paths.back().push_back(command);
    }
  }
}

TEST_F(ManPage, OfServerAndWitnessHasTheirFlagsAndCommands) {
  for (const auto& [program, title] : {std::pair("dpledger-server", "DPLEDGER-SERVER(8)"),
                                       std::pair("dpledger-witness", "DPLEDGER-WITNESS(8)")}) {
    const std::string page = Rendered(program);
    EXPECT_THAT(page, HasSubstr(title));
    const Helped helped = HelpOf(program, {});
    EXPECT_GT(helped.flags.size(), 8u);
    for (const std::string& flag : helped.flags) EXPECT_THAT(page, HasSubstr(flag));
  }
  const std::string page = Rendered("dpledger-server");
  for (const char* command : {"backup", "restore", "fsck", "recover"}) {
    EXPECT_THAT(page, HasSubstr(absl::StrCat("\n   dpledger-server ", command)));
  }
  // Examples stand as they are written, and can be copied.
  EXPECT_THAT(page, HasSubstr("  dpledger-server fsck --store /var/lib/dpledger/store\n"));
}

}  // namespace
}  // namespace dpledger::testing
