// The server's small parts: the worker pool and the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <limits>
#include <string>

#include "absl/synchronization/notification.h"
#include "server/desk/worker_pool.h"
#include "server/log.h"
#include "tests/ledger_store/requests.h"

namespace dpledger::server {
namespace {

TEST(WorkerPool, RefusesMoreThanItsQueueAndRunsWhatItTook) {
  std::atomic<int> run = 0;
  absl::Notification started;
  absl::Notification go_on;
  {
    WorkerPool pool({.name = "accounting", .threads = 1, .max_queued = 2});
    ASSERT_TRUE(pool.Submit("a",
                            [&] {
                              started.Notify();
                              go_on.WaitForNotification();
                              ++run;
                            })
                    .ok());
    started.WaitForNotification();
    EXPECT_TRUE(pool.Submit("a", [&] { ++run; }).ok());
    EXPECT_TRUE(pool.Submit("a", [&] { ++run; }).ok());
    EXPECT_TRUE(IsError(pool.Submit("b", [&] { run += 100; }), absl::StatusCode::kResourceExhausted,
                        "OVERLOADED", "accounting: 2 calls wait already"));
    go_on.Notify();
  }
  EXPECT_EQ(run, 3);
}

class LogTest : public ::testing::Test {
 protected:
  LogTest() { EXPECT_EQ(pipe(pipe_), 0); }
  ~LogTest() override {
    close(pipe_[0]);
    close(pipe_[1]);
  }
  std::string Written() {
    char text[4096];
    const ssize_t size = read(pipe_[0], text, sizeof text);
    return std::string(text, size);
  }
  int pipe_[2];
};

TEST_F(LogTest, LineIsOneJsonObject) {
  const Log log(LogLevel::kInfo, pipe_[1]);
  log.Write(LogLevel::kWarning, "odd",
            {{"text", "a \"b\"\\\n\x01"},
             {"count", int64_t{-3}},
             {"ratio", 0.5},
             {"good", true},
             {"endless", std::numeric_limits<double>::infinity()}});
  EXPECT_THAT(Written(),
              ::testing::MatchesRegex(
                  R"(\{"time":"[-0-9]+T[:0-9]+\.[0-9]{3}Z","level":"warning","event":"odd",)"
                  R"("text":"a \\"b\\"\\\\\\u000a\\u0001","count":-3,"ratio":0.5,"good":true,)"
                  R"("endless":"inf"\}
)"));
}

TEST_F(LogTest, LinesBelowTheLevelAreDropped) {
  const Log log(LogLevel::kWarning, pipe_[1]);
  log.Write(LogLevel::kInfo, "quiet");
  log.Write(LogLevel::kError, "loud");
  EXPECT_THAT(Written(), ::testing::Not(::testing::HasSubstr("quiet")));
}

}  // namespace
}  // namespace dpledger::server
