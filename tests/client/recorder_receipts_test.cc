// The recorder against real servers that were put back to an older copy of their store, or that
// hold another history than the one they acknowledged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/recorder.h"
#include "tests/cli/process.h"
#include "tests/client/open_recorder.h"
#include "tests/client/recorded_rounds.h"
#include "tests/fault/crashing_server.h"
#include "tests/support/await_that.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::AwaitThat;
using ::dpledger::testing::CopyFiles;
using ::dpledger::testing::CrashingServer;
using ::dpledger::testing::ReadLedger;
using ::dpledger::testing::TemporaryFolder;
using ::testing::HasSubstr;

class Receipts : public ::testing::Test {
 protected:
  RecorderOptions Options(const CrashingServer& server, const std::string& spool = "spool") {
    return OptionsFor(server.address(), folder_.File(spool));
  }
  static std::unique_ptr<PrivacyRecorder> Open(const RecorderOptions& options) {
    return OpenRecorder(options);
  }
  static void ReleaseAll(PrivacyRecorder& recorder, int rounds) {
    for (int i = 0; i < rounds; ++i) ASSERT_EQ(Release(recorder), absl::OkStatus());
  }
  void ExpectBroken(const absl::Status& status, const std::string& how) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("server: has lost or rewritten what it acknowledged of "));
    EXPECT_THAT(std::string(status.message()), HasSubstr(how));
  }
  // Nothing more can be had from it.
  void ExpectEnded(PrivacyRecorder& recorder, const absl::Status& broken) {
    EXPECT_EQ(Release(recorder), broken);
    EXPECT_EQ(recorder.Close(), broken);
    EXPECT_EQ(recorder.drain_status().last_error, broken);
  }
  // Puts these files in the place of the server's, which is killed for it.
  static void Swap(CrashingServer& server, const std::string& from) {
    server.Kill();
    CopyFiles(from, server.files());
    server.Start();
  }

  CrashingServer server_;
  TemporaryFolder folder_;
};

TEST_F(Receipts, AllowARestartOfAnHonestServer) {
  const auto recorder = Open(Options(server_));
  ReleaseAll(*recorder, 2);
  server_.Kill();
  server_.Start();
  ReleaseAll(*recorder, 2);
  // Another writer lets the ledger grow beyond what this one was told.
  RecorderOptions options = Options(server_);
  options.writer = "second";
  const auto second = Open(options);
  ReleaseAll(*second, 3);
  server_.Kill();
  server_.Start();
  ReleaseAll(*recorder, 1);
  ReleaseAll(*second, 1);
  EXPECT_EQ(recorder->Close(), absl::OkStatus());
}

TEST_F(Receipts, FindAnOlderCopyAfterALostConnection) {
  const auto recorder = Open(Options(server_));
  ReleaseAll(*recorder, 2);
  server_.Kill();
  CopyFiles(server_.files(), folder_.File("old"));
  server_.Start();
  ReleaseAll(*recorder, 2);
  const size_t acknowledged = ReadLedger(server_.address(), kLedger).size();
  Swap(server_, folder_.File("old"));
  const absl::Status broken = Release(*recorder);
  ExpectBroken(broken, absl::StrCat("it holds ", acknowledged - 4, " entries, and acknowledged ",
                                    acknowledged));
  ExpectEnded(*recorder, broken);
  // The copy was left as it is.
  EXPECT_EQ(ReadLedger(server_.address(), kLedger).size(), acknowledged - 4);
}

TEST_F(Receipts, FindAnotherHistoryOfTheSameLength) {
  CrashingServer forger;
  {
    const auto forged = Open(Options(forger, "forged spool"));
    ReleaseAll(*forged, 3);
  }
  const auto recorder = Open(Options(server_));
  ReleaseAll(*recorder, 3);
  EXPECT_EQ(ReadLedger(server_.address(), kLedger).size(),
            ReadLedger(forger.address(), kLedger).size());
  forger.Kill();
  Swap(server_, forger.files());
  forger.Start();
  const absl::Status broken = Release(*recorder);
  ExpectBroken(broken, "its 8 entries have the root ");
  ExpectEnded(*recorder, broken);
}

TEST_F(Receipts, FindALongerHistoryThatIsAnother) {
  CrashingServer forger;
  {
    const auto forged = Open(Options(forger, "forged spool"));
    ReleaseAll(*forged, 5);
  }
  {
    const auto recorder = Open(Options(server_));
    ReleaseAll(*recorder, 3);
  }
  forger.Kill();
  Swap(server_, forger.files());
  forger.Start();
  ExpectBroken(PrivacyRecorder::Open(Options(server_)).status(), "");
  EXPECT_EQ(ReadLedger(server_.address(), kLedger).size(), 12u);
  // Control: who was told nothing else takes it for a ledger like any other.
  RecorderOptions options = Options(server_, "new spool");
  EXPECT_TRUE(PrivacyRecorder::Open(options).ok());
}

TEST_F(Receipts, LetSpoolGoOnUntilTheServerIsBack) {
  RecorderOptions options = Options(server_);
  options.policy = v1::SPOOL;
  const auto recorder = Open(options);
  const auto deliver = [&] {
    AwaitThat([&] { return recorder->drain_status().undelivered_batches == 0; });
  };
  ReleaseAll(*recorder, 2);
  deliver();
  server_.Kill();
  CopyFiles(server_.files(), folder_.File("old"));
  ReleaseAll(*recorder, 2);  // no server: no error
  server_.Start();
  deliver();
  Swap(server_, folder_.File("old"));
  absl::Status broken;
  AwaitThat([&] { return !(broken = Release(*recorder)).ok(); });
  ExpectBroken(broken, "it holds 6 entries, and acknowledged 10");
  ExpectEnded(*recorder, broken);
}

}  // namespace
}  // namespace dpledger::client
