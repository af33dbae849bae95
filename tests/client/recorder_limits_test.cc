// The recorder where something is missing or doubled: a disk that fails, a spool without room, two
// recorders of one name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "client/recorder.h"
#include "connection/shared_connections.h"
#include "tests/cli/process.h"
#include "tests/client/open_recorder.h"
#include "tests/client/recorded_rounds.h"
#include "tests/fault/crashing_server.h"
#include "tests/support/await_that.h"
#include "tests/support/descriptors.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::AwaitThat;
using ::dpledger::testing::CrashingServer;
using ::dpledger::testing::ReadLedger;
using ::dpledger::testing::ReplaceDescriptor;
using ::dpledger::testing::TemporaryFolder;
using ::testing::HasSubstr;

class RecorderLimits : public ::testing::Test {
 protected:
  RecorderOptions Options(v1::SpoolPolicy policy, const std::string& spool = "spool") {
    RecorderOptions options = OptionsFor(server_.address(), folder_.File(spool));
    options.policy = policy;
    return options;
  }
  static std::unique_ptr<PrivacyRecorder> Open(const RecorderOptions& options) {
    return OpenRecorder(options);
  }
  static void AwaitDelivery(PrivacyRecorder& recorder) {
    AwaitThat([&] { return recorder.drain_status().undelivered_batches == 0; });
  }
  // How often each round of `writer` is in the ledger.
  std::map<uint64_t, int> Rounds(const std::string& writer = "trainer") {
    std::map<uint64_t, int> rounds;
    for (const v1::LedgerEntry& entry : ReadLedger(server_.address(), kLedger)) {
      if (entry.writer() == writer && entry.event().has_sampling()) {
        ++rounds[entry.event().sampling().round()];
      }
    }
    return rounds;
  }
  // Every round once, one number after the other.
  void ExpectEachOnce(size_t count) {
    const std::map<uint64_t, int> rounds = Rounds();
    EXPECT_EQ(rounds.size(), count);
    for (const auto& [round, times] : rounds) EXPECT_EQ(times, 1) << "round " << round;
  }

  CrashingServer server_;
  TemporaryFolder folder_;
};

TEST_F(RecorderLimits, SpoolReleasesAndSendsNothingThatTheDiskDidNotSync) {
  const auto recorder = Open(Options(v1::SPOOL));
  const auto synced = Record(*recorder);
  ASSERT_TRUE(synced.ok()) << synced.status();
  ASSERT_EQ(recorder->AwaitReleasable(*synced), absl::OkStatus());
  AwaitDelivery(*recorder);
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  ReplaceDescriptor(folder_.File("spool/default~adult~trainer.spool"), pipes[1]);  // not syncable
  const auto unsynced = Record(*recorder);
  ASSERT_TRUE(unsynced.ok()) << unsynced.status();
  const absl::Status failed = recorder->AwaitReleasable(*unsynced);
  EXPECT_THAT(std::string(failed.message()), HasSubstr("spool: fdatasync "));
  EXPECT_EQ(recorder->AwaitReleasable(*unsynced), failed);
  EXPECT_EQ(recorder->AwaitReleasable(*synced), failed);
  EXPECT_EQ(Record(*recorder).status(), failed);
  EXPECT_EQ(recorder->Close(), failed);
  EXPECT_EQ(recorder->drain_status().undelivered_batches, 1u);
  ExpectEachOnce(1);
  close(pipes[0]);
  close(pipes[1]);
}

TEST_F(RecorderLimits, GivesUpWhenTheSpoolStaysFull) {
  RecorderOptions options = Options(v1::SPOOL);
  options.spool_bound_bytes = 4000;
  options.full_spool_timeout = absl::Milliseconds(50);
  const auto recorder = Open(options);
  server_.Kill();
  size_t recorded = 0;
  absl::StatusOr<uint64_t> round;
  while ((round = Record(*recorder)).ok()) ++recorded;
  EXPECT_EQ(round.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(round.status().message()),
              HasSubstr(absl::StrCat(recorded,
                                     " batches wait for the server, bound_bytes is 4000; "
                                     "for 50ms the server: acknowledges nothing; last "
                                     "error: UNAVAILABLE")));
  EXPECT_GT(recorded, 5u);
  server_.Start();
  AwaitThat([&] { return !absl::IsResourceExhausted((round = Record(*recorder)).status()); });
  EXPECT_TRUE(round.ok()) << round.status();
  EXPECT_EQ(recorder->Close(), absl::OkStatus());
  ExpectEachOnce(recorded + 1);
}

TEST_F(RecorderLimits, WaitsForRoomInAFullSpool) {
  constexpr size_t kRounds = 100;  // far more than there is room for
  RecorderOptions options = Options(v1::SPOOL);
  options.spool_bound_bytes = 4000;
  const auto recorder = Open(options);
  const auto first = Record(*recorder);
  ASSERT_TRUE(first.ok()) << first.status();
  server_.Pause();
  absl::Status last;
  std::thread trainer([&] {
    for (size_t i = 1; i < kRounds && last.ok(); ++i) last = Record(*recorder).status();
  });
  AwaitThat([&] { return recorder->drain_status().undelivered_batches >= 10; });
  // Who waits for room keeps nobody else from releasing.
  EXPECT_EQ(recorder->AwaitReleasable(*first), absl::OkStatus());
  server_.Resume();
  trainer.join();
  EXPECT_EQ(last, absl::OkStatus());
  EXPECT_LE(std::filesystem::file_size(folder_.File("spool/default~adult~trainer.spool")), 4000u);
  EXPECT_EQ(recorder->Close(), absl::OkStatus());
  ExpectEachOnce(kRounds);
}

TEST_F(RecorderLimits, StopsWaitingForRoomWhenTheServerRefuses) {
  RecorderOptions options = Options(v1::SPOOL);
  options.spool_bound_bytes = 4000;
  const auto recorder = Open(options);
  ASSERT_EQ(Release(*recorder), absl::OkStatus());
  AwaitDelivery(*recorder);
  server_.Kill();
  std::filesystem::remove_all(server_.files() + "/store");
  std::filesystem::remove(server_.files() + "/store.checkpoint");
  absl::Status last;
  std::thread trainer([&] {
    while (last.ok()) last = Record(*recorder).status();
  });
  AwaitThat([&] { return recorder->drain_status().undelivered_batches >= 10; });
  server_.Start();
  trainer.join();
  EXPECT_EQ(last.code(), absl::StatusCode::kDataLoss) << last;
  EXPECT_EQ(ReasonOf(last).reason, "RECEIPT_BROKEN");
}

// As when a job is started twice, on two machines.
TEST_F(RecorderLimits, FailClosedFindsAnotherRecorderOfItsName) {
  const auto older = Open(Options(v1::FAIL_CLOSED));
  ASSERT_EQ(Release(*older), absl::OkStatus());
  const auto newer = Open(Options(v1::FAIL_CLOSED, "another spool"));
  ASSERT_EQ(Release(*newer), absl::OkStatus());
  const absl::Status refused = Release(*older);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(
      std::string(refused.message()),
      HasSubstr("writer: another recorder, with another spool or a copy of this one, has written "
                "under this name: writer trainer was opened again, by incarnation "));
  EXPECT_EQ(ReasonOf(refused).reason, "FENCED_OFF");
  EXPECT_EQ(Record(*older).status(), refused);
  EXPECT_EQ(older->Close(), refused);
  EXPECT_EQ(Release(*newer), absl::OkStatus());
  EXPECT_EQ(newer->Close(), absl::OkStatus());
  ExpectEachOnce(3);
}

// Control: two names.
TEST_F(RecorderLimits, LetsRecordersOfTwoNamesGoOn) {
  const auto one = Open(Options(v1::FAIL_CLOSED));
  RecorderOptions options = Options(v1::FAIL_CLOSED, "another spool");
  options.writer = "second";
  const auto two = Open(options);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Release(*one), absl::OkStatus());
    EXPECT_EQ(Release(*two), absl::OkStatus());
  }
  EXPECT_EQ(one->Close(), absl::OkStatus());
  EXPECT_EQ(two->Close(), absl::OkStatus());
  ExpectEachOnce(3);
  EXPECT_EQ(Rounds("second").size(), 3u);
}

TEST_F(RecorderLimits, SpoolFindsAnotherRecorderOfItsName) {
  const auto older = Open(Options(v1::SPOOL));
  ASSERT_EQ(Release(*older), absl::OkStatus());
  AwaitDelivery(*older);
  const auto newer = Open(Options(v1::SPOOL, "another spool"));
  ASSERT_EQ(Release(*newer), absl::OkStatus());
  AwaitDelivery(*newer);
  absl::Status refused;
  AwaitThat([&] { return !(refused = Release(*older)).ok(); });
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("another recorder, with another spool"));
  // What it released meanwhile is in its spool, and says so.
  EXPECT_GT(older->drain_status().undelivered_batches, 0u);
  EXPECT_EQ(older->drain_status().last_error, refused);
  EXPECT_EQ(newer->Close(), absl::OkStatus());
}

// A machine that comes back with what it had not delivered, after another one took over.
TEST_F(RecorderLimits, FindsAtOpeningThatAnotherHasWritten) {
  for (const v1::SpoolPolicy policy : {v1::FAIL_CLOSED, v1::SPOOL}) {
    RecorderOptions options = Options(policy, absl::StrCat("spool", policy));
    options.ledger = absl::StrCat("ledger", policy);
    {
      const auto recorder = Open(options);
      server_.Kill();
      ASSERT_TRUE(Record(*recorder).ok());
    }
    server_.Start();
    RecorderOptions other = options;
    other.spool_folder = folder_.File(absl::StrCat("another spool", policy));
    {
      const auto recorder = Open(other);
      ASSERT_TRUE(Record(*recorder).ok());
      ASSERT_EQ(recorder->Close(), absl::OkStatus());
    }
    for (int again = 0; again < 2; ++again) {
      const absl::Status refused = PrivacyRecorder::Open(options).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
      EXPECT_THAT(std::string(refused.message()),
                  HasSubstr("another recorder, with another spool"));
      EXPECT_EQ(ReasonOf(refused).reason, "WRITER_CLOSED");
    }
  }
}

// Mechanisms have no round: it is the opening that fences the older one off, with what is recorded
// first.
TEST_F(RecorderLimits, RefusesTheMechanismsOfAnOlderRecorderOfItsName) {
  v1::MechanismEvent mechanism;
  mechanism.mutable_gaussian()->set_noise_multiplier(2);
  const auto older = Open(Options(v1::FAIL_CLOSED));
  const auto newer = Open(Options(v1::FAIL_CLOSED, "another spool"));
  const auto release = [&](PrivacyRecorder& recorder) {
    const auto number = recorder.RecordMechanism(mechanism);
    return number.ok() ? recorder.AwaitReleasable(*number) : number.status();
  };
  EXPECT_EQ(release(*older), absl::OkStatus());
  EXPECT_EQ(release(*newer), absl::OkStatus());
  const absl::Status refused = release(*older);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_EQ(ReasonOf(refused).reason, "FENCED_OFF");
  EXPECT_EQ(newer->Close(), absl::OkStatus()) << "the conflict is not of its entries";
  const std::vector<v1::LedgerEntry> entries = ReadLedger(server_.address(), kLedger);
  ASSERT_EQ(entries.size(), 7u);
  EXPECT_EQ(entries[5].conflict().incarnation(), older->incarnation());
  EXPECT_EQ(entries[5].conflict().reason(), "FENCED_OFF");
  EXPECT_EQ(entries[6].writer_closed().entry_count(), 3u);
}

// Of one process; the server takes 8 connections from a host, and 64 + 64 calls on one: each
// recorder has a stream and a call at once.
TEST(ManyRecorders, ShareConnections) {
  constexpr int kRecorders = 300;
  CrashingServer server({.flags = {"--max-connections-per-host", "8", "--max-streams", "128"}});
  TemporaryFolder folder;
  std::vector<std::unique_ptr<PrivacyRecorder>> recorders;
  for (int i = 0; i < kRecorders; ++i) {
    RecorderOptions options = OptionsFor(server.address(), folder.File(absl::StrCat("spool-", i)));
    options.policy = v1::FAIL_CLOSED;
    options.writer = absl::StrCat("trainer-", i);
    recorders.push_back(OpenRecorder(options));
  }
  EXPECT_EQ(connection::SharedConnections::OfProcess().channels(), 5) << "64 users of each";
  v1::MechanismEvent mechanism;
  mechanism.mutable_gaussian()->set_noise_multiplier(2);
  for (const auto& recorder : recorders) {
    const auto number = recorder->RecordMechanism(mechanism);
    ASSERT_TRUE(number.ok()) << number.status();
    ASSERT_EQ(recorder->AwaitReleasable(*number), absl::OkStatus());
  }
  for (const auto& recorder : recorders) EXPECT_EQ(recorder->Close(), absl::OkStatus());
  recorders.clear();
  EXPECT_EQ(connection::SharedConnections::OfProcess().channels(), 0);
}

}  // namespace
}  // namespace dpledger::client
