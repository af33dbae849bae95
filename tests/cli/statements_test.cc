// A document that somebody was handed: who issued it, and whether it still stands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cli/events.h"
#include "tests/cli/json_object.h"
#include "tests/cli/process.h"
#include "tests/cli/server_process.h"

namespace dpledger::testing {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

class Statements : public ::testing::Test {
 protected:
  Words On(Words words) const {
    words.insert(words.end(), {"--server", server_.address()});
    return words;
  }
  RunResult Run(const Words& words) const { return Dpledger(On(words)); }
  // The document's file.
  std::string Issue(const std::string& name, const Words& about, const Words& more = {}) {
    const std::string file = folder_.File(name);
    Words words = {"statement", "--issue", "--organization", "An office", "--issuer",
                   "A unit",    "--role",  "controller",     "--output",  file};
    words.insert(words.end(), about.begin(), about.end());
    words.insert(words.end(), more.begin(), more.end());
    const RunResult issued = Run(words);
    EXPECT_EQ(issued.exit_code, 0) << issued.err;
    return file;
  }
  RunResult Check(const std::string& file, const Words& more = {}) const {
    Words words = {"statements", "check", file};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }
  void SetUp() override {
    const std::string events = folder_.Write("run.jsonl", PoissonRounds("0.01", "1", "100"));
    for (const char* name : {"run", "other"}) {
      ASSERT_EQ(Run(CreateLedger(name, "d", {"--plan-independent"})).exit_code, 0);
      ASSERT_EQ(Run({"ledger", "append", name, "--events", events}).exit_code, 0);
    }
  }

  ServerProcess server_;
  TemporaryFolder folder_;
};

TEST_F(Statements, BothFormsAreKnownAndAChangedOneIsNot) {
  const std::string markdown = Issue("run.md", {"--ledger", "run"});
  const std::string page = Issue("d.html", {"--dataset", "d"}, {"--format", "html"});
  for (const std::string& file : {markdown, page}) {
    const RunResult found = Check(file);
    EXPECT_EQ(found.exit_code, 0) << found.err;
    EXPECT_THAT(found.out, HasSubstr("A unit, controller, An office"));
    EXPECT_THAT(found.out, HasSubstr("NOT VERIFIED: give the server's key, --key"));
  }
  EXPECT_THAT(Check(page).out, HasSubstr("statement          2 about data set d"));
  std::ofstream(page, std::ios::app) << " ";
  const RunResult changed = Check(page);
  EXPECT_EQ(changed.exit_code, 3);
  EXPECT_THAT(changed.err, HasSubstr("no statement with this file's SHA-256"));
  EXPECT_THAT(changed.err, HasSubstr("Nobody answers for this document"));
}

TEST_F(Statements, SignatureIsThatOfTheKeyThatIsGiven) {
  const std::string file = Issue("run.md", {"--ledger", "run"});
  const std::string bundle = folder_.File("register.bundle");
  const RunResult exported =
      Run({"ledger", "export", "projects/statements/ledgers/register", "--output", bundle});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  // Keys come along in the bundle; who checks it has them from elsewhere.
  const RunResult keys = RunProgram({"/bin/tar", "-xOf", bundle, "keys"});
  std::istringstream lines(keys.out);
  std::string key;
  std::getline(lines, key);
  const std::string own_key = key;
  const RunResult verified = Check(file, {"--key", key});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("signed by a key of yours"));
  const ServerProcess stranger;
  const RunResult made = Dpledger(CreateLedger("x", "d", {"--server", stranger.address()}));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string other = folder_.File("other.bundle");
  ASSERT_EQ(Dpledger({"ledger", "export", "x", "--output", other, "--server", stranger.address()})
                .exit_code,
            0);
  std::istringstream others(RunProgram({"/bin/tar", "-xOf", other, "keys"}).out);
  std::getline(others, key);
  const RunResult wrong = Check(file, {"--key", key});
  EXPECT_EQ(wrong.exit_code, 3) << wrong.out;
  EXPECT_THAT(wrong.err, HasSubstr("signature"));
  // Without a server.
  const RunResult trusting = Dpledger({"statements", "check", file, "--store", bundle});
  EXPECT_EQ(trusting.exit_code, 2);
  EXPECT_THAT(trusting.err, HasSubstr("--key: must be given with --store"));
  const RunResult at_rest =
      Dpledger({"statements", "check", file, "--store", bundle, "--key", own_key});
  EXPECT_EQ(at_rest.exit_code, 0) << at_rest.err;
  EXPECT_THAT(at_rest.out, HasSubstr("A unit, controller, An office"));
}

TEST_F(Statements, WithdrawnOnesAreShownAndStandNoMore) {
  const std::string file = Issue("run.md", {"--ledger", "run"});
  const RunResult other =
      Run({"statements", "withdraw", "1", "--ledger", "other", "--reason", "wrong"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("no statement 1 about this"));
  EXPECT_EQ(Check(file).exit_code, 0);
  ASSERT_EQ(Run({"statements", "withdraw", "1", "--ledger", "run", "--reason", "a\nb"}).exit_code,
            0);
  const RunResult withdrawn = Check(file);
  EXPECT_EQ(withdrawn.exit_code, 3);
  EXPECT_THAT(withdrawn.out, HasSubstr("WITHDRAWN"));
  EXPECT_THAT(withdrawn.out, ::testing::Not(HasSubstr("\nb")));
  EXPECT_THAT(withdrawn.err, HasSubstr("was withdrawn"));
  EXPECT_THAT(Run({"statements", "list"}).out, HasSubstr("WITHDRAWN"));
  EXPECT_EQ(Run({"statements", "list", "--ledger", "other"}).out, "");
}

TEST_F(Statements, NothingIsIssuedWithoutAPlaceForTheDocument) {
  const Words issue = {"statement", "--ledger", "run", "--issue", "--organization",
                       "o",         "--issuer", "n",   "--role",  "r"};
  const auto with = [&](Words more) {
    Words words = issue;
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  };
  EXPECT_THAT(with({}).err, HasSubstr("--output: must name a file with --issue"));
  EXPECT_THAT(with({"--output", folder_.Write("there", "x")}).err,
              HasSubstr("--output: must name a new file"));
  EXPECT_THAT(with({"--output", "-"}).err, HasSubstr("--output: must name a file"));
  EXPECT_EQ(with({"--output", folder_.File("no/such/folder")}).exit_code, 1);
  EXPECT_THAT(with({"--output", folder_.File("x"), "--valid-until", "2099"}).err,
              HasSubstr("--valid-until: must be YYYY-MM-DD"));
  EXPECT_THAT(with({"--output", folder_.File("x"), "--valid-until", "2001-01-01"}).err,
              HasSubstr("issuer.valid_until: must be a day in the future"));
  EXPECT_THAT(Run({"statement", "--ledger", "run", "--role", "r"}).err,
              HasSubstr("--role: is for --issue"));
  EXPECT_THAT(Run({"statement", "--ledger", "run", "--issue", "--output", folder_.File("x")}).err,
              HasSubstr("--organization: must be given with --issue"));
  EXPECT_THAT(Run({"statements", "withdraw", "1", "--reason", "r"}).err,
              HasSubstr("--ledger or --dataset"));
  EXPECT_EQ(Run({"statements", "list"}).out, "");
}

}  // namespace
}  // namespace dpledger::testing
