// ledger list, datasets and watch, against a real server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/cli/process.h"
#include "tests/cli/server_process.h"

namespace dpledger::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Lists : public ::testing::Test {
 protected:
  RunResult Ledger(const std::string& command, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"ledger", command, "--server", server_.address()});
    return Dpledger(more);
  }
  void Create(const std::string& name, const std::string& dataset) {
    std::vector<std::string> arguments = CreateLedger(name, dataset);
    arguments.insert(arguments.end(), {"--server", server_.address()});
    ASSERT_EQ(Dpledger(arguments).exit_code, 0);
  }
  // Once the list has it.
  std::string ListWith(const std::string& text) {
    while (true) {
      const RunResult list = Ledger("list");
      EXPECT_EQ(list.exit_code, 0) << list.err;
      if (list.exit_code != 0 || absl::StrContains(list.out, text)) return list.out;
      absl::SleepFor(absl::Milliseconds(20));
    }
  }
  ServerProcess server_;
};

TEST_F(Lists, ShowWhatLedgersCostFilteredAndInOrder) {
  Create("a", "adult");
  Create("b", "mnist");
  ListWith("mnist, example  epsilon <= 0 at delta 1e-05");
  EXPECT_EQ(Ledger("list", {"--filter", "dataset = mnist"}).out,
            "projects/default/ledgers/b  OPEN  size 1  mnist, example  epsilon <= 0 at delta "
            "1e-05\n");
  const std::string out = Ledger("list", {"--project", "-", "--order-by", "name desc"}).out;
  EXPECT_LT(out.find("ledgers/b"), out.find("ledgers/a"));
  EXPECT_THAT(Ledger("list", {"--json"}).out, HasSubstr("\"summaries\":[{\"ledger\":\"projects/"));
  const RunResult wrong = Ledger("list", {"--filter", "sise > 1"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("filter: byte 1: must be a field (name, project"));
}

TEST_F(Lists, ShowDataSets) {
  Create("a", "adult");
  Create("b", "mnist");
  ListWith("mnist, example  epsilon <= 0 at delta 1e-05");
  EXPECT_THAT(Ledger("datasets").out,
              HasSubstr("mnist  1 ledger, 1 open  epsilon <= 0 at delta 1e-05\n"));
  EXPECT_THAT(Ledger("datasets", {"--json"}).out, HasSubstr("\"datasets\":[{\"name\":\"adult\""));
  // Two plans of which nothing says that they are independent.
  Create("c", "twice");
  Create("d", "twice");
  EXPECT_THAT(Ledger("datasets").out,
              HasSubstr("twice  2 ledgers, 2 open  epsilon <= 0 at delta 1e-05, by an odometer, "
                        "which is no differential privacy\n"));
  EXPECT_THAT(Ledger("datasets", {"--json"}).out, HasSubstr("\"regime\":\"ODOMETER\""));
}

// The watch is told of `n` changes while ledgers are made one after the other.
TEST_F(Lists, WatchPrintsWhatChanges) {
  RunResult watched;
  std::atomic<bool> ended = false;
  std::thread watch([&] {
    watched = Ledger("watch", {"--changes", "2", "--filter", "dataset = seen", "--json"});
    ended = true;
  });
  for (int i = 0; !ended; ++i) {
    Create(absl::StrCat("seen", i), "seen");
    Create(absl::StrCat("other", i), "other");
  }
  watch.join();
  EXPECT_EQ(watched.exit_code, 0) << watched.err;
  const std::vector<std::string> lines = absl::StrSplit(watched.out, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 2u);
  for (const std::string& line : lines) {
    EXPECT_THAT(line, AllOf(HasSubstr("{\"name\":\"projects/default/ledgers/seen"),
                            Not(HasSubstr("ledgers/other"))));
  }
  EXPECT_EQ(Ledger("watch", {"--filter", "sise"}).exit_code, 1);
}

}  // namespace
}  // namespace dpledger::testing
