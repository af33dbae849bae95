#include "client/internal/workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace dpledger::client::internal {
namespace {

std::unique_ptr<Workers> WorkersOf(size_t threads) {
  auto workers = Workers::Create(threads);
  EXPECT_TRUE(workers.ok()) << workers.status();
  return *std::move(workers);
}

TEST(Workers, EveryShareRunsOnceEachTimeOnAThreadOfItsOwn) {
  for (const size_t threads : {1u, 2u, 3u, 7u}) {
    const auto workers = WorkersOf(threads);
    ASSERT_EQ(workers->threads(), threads);
    std::vector<int> runs(threads);
    std::vector<std::thread::id> ids(threads);
    for (int time = 1; time <= 300; ++time) {
      // Now and then the threads have gone to sleep.
      if (time % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      workers->Run([&](size_t share) {
        ++runs[share];
        ids[share] = std::this_thread::get_id();
      });
      ASSERT_THAT(runs, ::testing::Each(time));
    }
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    for (size_t a = 0; a < threads; ++a) {
      for (size_t b = 0; b < a; ++b) EXPECT_NE(ids[a], ids[b]);
    }
  }
}

// Shares that each wait for all others finish only if they run at the same time.
TEST(Workers, SharesRunAtOnce) {
  const auto workers = WorkersOf(3);
  std::atomic<int> arrived = 0;
  workers->Run([&](size_t) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 3);
}

TEST(Workers, WhatAShareThrowsComesOutWhenAllHaveReturned) {
  const auto workers = WorkersOf(3);
  for (size_t thrower = 0; thrower < 3; ++thrower) {
    std::atomic<int> returned = 0;
    EXPECT_THROW(workers->Run([&](size_t share) {
      if (share == thrower) throw std::bad_alloc();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ++returned;
    }),
                 std::bad_alloc);
    EXPECT_EQ(returned, 2);
    workers->Run([&](size_t) { ++returned; });
    EXPECT_EQ(returned, 5);
  }
}

// Threads inherit the mode of the one that creates them; noise is drawn to nearest by all.
TEST(Workers, RoundToNearestWhateverTheirCreatorDid) {
  std::fesetround(FE_UPWARD);
  const auto workers = WorkersOf(3);
  std::fesetround(FE_TONEAREST);
  std::vector<int> modes(3, -1);
  workers->Run([&](size_t share) { modes[share] = std::fegetround(); });
  EXPECT_THAT(modes, ::testing::Each(FE_TONEAREST));
}

TEST(Workers, SharesRunOneAfterTheOtherInAForkedChild) {
  auto workers = WorkersOf(3);
  int sum = 0;
  workers->Run([&](size_t) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    workers->Run([&](size_t share) { sum = 10 * sum + static_cast<int>(share); });
    workers.reset();
    _exit(sum == 12 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Workers, RefusesNumbersOutOfTheirDomain) {
  for (const size_t threads : {size_t{0}, size_t{257}}) {
    const absl::Status status = Workers::Create(threads).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(status.message()),
              "threads: must be in [1, 256], got " + std::to_string(threads));
  }
}

TEST(ShareOf, CoversAllOnceInWholeGrains) {
  for (const size_t grain : {1u, 8u}) {
    for (size_t size = 0; size < 100; ++size) {
      for (size_t shares = 1; shares <= 9; ++shares) {
        size_t next = 0;
        for (size_t share = 0; share < shares; ++share) {
          const Range range = ShareOf(size, share, shares, grain);
          ASSERT_EQ(range.begin, next);
          ASSERT_LE(range.begin, range.end);
          ASSERT_TRUE(range.end == size || range.end % grain == 0);
          ASSERT_LE(range.end - range.begin, (size + shares - 1) / shares + grain - 1);
          next = range.end;
        }
        ASSERT_EQ(next, size);
      }
    }
  }
}

}  // namespace
}  // namespace dpledger::client::internal
