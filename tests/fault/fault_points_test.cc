// Every call that a server's life makes to its disk, failed in turn: a first run counts them by
// name, and then each point of that trace, (call, n), fails with EIO and with ENOSPC in a life of
// its own. After the first error nothing more is acknowledged, health says NOT_SERVING and the
// server ends with 1, unless nothing stored depends on the call; after the power has gone too, it
// starts again without repair and holds all that was acknowledged. DPLEDGER_FAULT_ROUNDS points are
// taken, at random places that DPLEDGER_FAULT_SEED repeats, and of every call at least one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/fault/point_life.h"
#include "tests/fault/power_rounds.h"
#include "tests/fault/power_server.h"

namespace dpledger::testing {
namespace {

using ::testing::IsEmpty;

struct Point {
  std::string op;
  uint64_t nth;
  int error;
};

using Points = std::vector<Point>;

// All points of a trace, by call; the calls that only look are no part of "any" (fault_fs_rules.h).
std::map<std::string, Points> PointsOf(const std::map<std::string, uint64_t>& counts) {
  std::map<std::string, Points> points;
  for (const auto& [op, count] : counts) {
    if (op == "any" || op == "struck" || op == "lookup" || op == "getattr") continue;
    for (uint64_t nth = 1; nth <= count; ++nth) {
      points[op].push_back({op, nth, EIO});
      // POSIX's read() has no such error; the server would take it for one that passes.
      if (op != "read") points[op].push_back({op, nth, ENOSPC});
    }
  }
  return points;
}

// `wanted` points of `all`, and a few more: each call gets its share, rounded up. One point is
// chosen at random in each of as many equal parts of the call's trace.
Points Sample(const std::map<std::string, Points>& by_call, size_t all, size_t wanted) {
  std::mt19937_64 random(FaultSeed());
  Points chosen;
  for (const auto& [op, points] : by_call) {
    const size_t count = points.size();
    const size_t share = wanted < all ? (count * wanted + all - 1) / all : count;
    for (size_t i = 0; i < share; ++i) {
      const size_t first = i * count / share, end = (i + 1) * count / share;
      chosen.push_back(points[first + random() % (end - first)]);
    }
  }
  return chosen;
}

// A file's name without its number: "000012.log" is "#.log".
std::string KindOf(const std::string& name) {
  std::string kind;
  for (const char c : name) {
    if (!absl::ascii_isdigit(c)) {
      kind += c;
    } else if (kind.empty() || kind.back() != '#') {
      kind += '#';
    }
  }
  return kind;
}

// Calls that nothing stored depends on: reserving space and giving it back, listing and removing
// what is left over, RocksDB's record of its options, which is not read back, and the sync of the
// folder's names after the former; reading IDENTITY, whose content the MANIFEST holds too. A server
// may go on after them.
bool MattersNot(const std::string& op, const std::string& file) {
  return op == "fallocate" || op == "ftruncate" || op == "readdir" || op == "unlink" ||
         absl::StartsWith(file, "OPTIONS-") ||
         ((op == "open" || op == "read") && file == "IDENTITY") ||
         (op == "fsyncdir" && file == "store");
}

// What became of the lives whose point was struck, by call.
struct Tally {
  int struck = 0;
  int refused_to_start = 0;
  int stopped = 0;  // in the middle, with 1
  int went_on = 0;  // and acknowledged
};

class FaultPoints : public ::testing::Test {
 protected:
  void SetUp() override {
    PoweredServer server;
    const absl::Status status = server.PowerOn();
    if (absl::IsUnavailable(status)) GTEST_SKIP() << status;
    ASSERT_TRUE(status.ok()) << status;
  }
};

TEST_F(FaultPoints, NothingIsAcknowledgedAfterTheFirstErrorNorLost) {
  PointLife whole;
  ASSERT_NO_FATAL_FAILURE(whole.Live({}));
  ASSERT_THAT(whole.complaints(), IsEmpty());
  ASSERT_EQ(whole.outcome(), PointLife::Outcome::kFinished);
  const std::map<std::string, Points> by_call = PointsOf(whole.counts());
  size_t all = 0;
  for (const auto& [op, points] : by_call) all += points.size();
  const Points points = Sample(by_call, all, FaultRounds(45));
  std::map<std::string, Tally> tallies;
  uint64_t acknowledged = 0;
  for (const Point& point : points) {
    const FaultRule rule = {.op = point.op, .nth = point.nth, .error = point.error};
    SCOPED_TRACE(RuleText(rule));
    PointLife life;
    ASSERT_NO_FATAL_FAILURE(life.Live({rule}));
    ASSERT_NO_FATAL_FAILURE(life.LiveAgain());
    EXPECT_THAT(life.complaints(), IsEmpty());
    acknowledged += life.acknowledged();
    if (!life.struck()) continue;
    EXPECT_TRUE(!life.went_on() || MattersNot(point.op, life.struck_file())) << life.struck_file();
    Tally& tally = tallies[absl::StrCat(point.op, " ", KindOf(life.struck_file()))];
    ++tally.struck;
    if (life.outcome() == PointLife::Outcome::kRefusedToStart) ++tally.refused_to_start;
    EXPECT_FALSE(life.aborted());  // by an assertion of RocksDB
    if (life.outcome() == PointLife::Outcome::kStopped) ++tally.stopped;
    if (life.went_on()) ++tally.went_on;
  }
  std::cout << points.size() << " of " << all << " points, " << acknowledged
            << " entries acknowledged\n";
  for (const auto& [op, tally] : tallies) {
    std::cout << op << ": " << tally.struck << " struck; " << tally.refused_to_start
              << " servers refused to start, " << tally.stopped << " stopped, " << tally.went_on
              << " went on\n";
  }
}

// The control: an error that the server does not see, after which it goes on and must be noticed.
TEST_F(FaultPoints, NoticesAServerThatGoesOnAfterAnError) {
  PointLife life;
  ASSERT_NO_FATAL_FAILURE(life.Live({.op = "mkdir", .nth = 1, .error = EIO, .path = "bait"}, true));
  EXPECT_TRUE(life.struck());
  EXPECT_TRUE(life.went_on());
  EXPECT_FALSE(MattersNot("mkdir", life.struck_file()));
}

}  // namespace
}  // namespace dpledger::testing
