// The access record: what is in it, and that nothing else gets in.
#include "server/own_ledgers/access_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "events/proto_json.h"
#include "server/own_ledgers/own_ledgers.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using ::testing::ElementsAre;

constexpr char kNovember[] = "projects/access-record/ledgers/2026-11";
constexpr char kDecember[] = "projects/access-record/ledgers/2026-12";

// A store that a running server keeps, and a record of its own in it.
class AccessRecordTest : public ::testing::Test {
 protected:
  AccessRecordTest() {
    clock_.Set(absl::FromCivil(absl::CivilMinute(2026, 11, 22, 17, 5), absl::UTCTimeZone()));
  }

  LedgerStore& store() { return running_.ledger_store(); }
  void Begin() { record_ = std::make_unique<AccessRecord>(&store(), &clock_, &log_); }
  void Pass(absl::Duration time) { clock_.Advance(time); }

  // The messages of a ledger's notes, of all writers.
  std::vector<v1::Access> Recorded(const std::string& ledger = kNovember) {
    std::vector<v1::Access> all;
    v1::ReadEntriesRequest request;
    request.set_ledger(ledger);
    request.set_page_size(10'000);
    v1::ReadEntriesResponse response;
    do {
      request.set_first_sequence(response.next_sequence());
      if (!Call(running_.ledgers(), &v1::LedgerService::Stub::ReadEntries, request, &response).ok())
        break;
      for (const std::string& bytes : response.entries()) {
        v1::LedgerEntry entry;
        EXPECT_TRUE(entry.ParseFromString(bytes));
        if (!entry.has_note()) continue;
        EXPECT_LE(entry.note().text().size(), 4096);
        EXPECT_TRUE(
            events::MessageFromJson(entry.note().text(), "a record", all.emplace_back()).ok());
      }
    } while (response.next_sequence() > 0);
    return all;
  }
  static v1::Access::Refused Why(const std::string& reason) {
    v1::Access::Refused refused;
    refused.set_reason(reason);
    return refused;
  }

  RunningServer running_;
  TestClock clock_;
  Log log_{LogLevel::kError, 2};
  std::unique_ptr<AccessRecord> record_;
};

TEST_F(AccessRecordTest, AddsReadsUpByCallerResourceAndMinute) {
  Begin();
  for (int i = 0; i < 3; ++i) record_->Reads("token:ann", "ask", "projects/p/ledgers/l", 0);
  record_->Reads("token:ann", "ask", "projects/p/ledgers/m", 0);
  record_->Reads("token:ann", "read_entries", "projects/p/ledgers/l", 70);
  record_->Reads("token:ann", "read_entries", "projects/p/ledgers/l", 30);
  record_->Reads("token:bob", "ask", "projects/p/ledgers/l", 0);
  ASSERT_TRUE(record_->Flush().ok());
  EXPECT_EQ(Recorded().size(), 0) << "the minute is not over";
  Pass(absl::Minutes(1));
  record_->Reads("token:ann", "ask", "projects/p/ledgers/l", 0);
  ASSERT_TRUE(record_->Flush().ok());
  std::vector<v1::Access> recorded = Recorded();
  ASSERT_EQ(recorded.size(), 2);
  EXPECT_EQ(recorded[0].caller(), "token:ann");
  EXPECT_EQ(recorded[0].time().seconds() % 60, 0);
  std::vector<std::string> reads;
  for (const auto& read : recorded[0].reads()) {
    reads.push_back(absl::StrCat(read.permission(), " ", read.resource(), " ", read.count(), " ",
                                 read.entries()));
  }
  EXPECT_THAT(reads, ElementsAre("ask projects/p/ledgers/l 3 0", "ask projects/p/ledgers/m 1 0",
                                 "read_entries projects/p/ledgers/l 2 100"));
  EXPECT_EQ(recorded[1].caller(), "token:bob");
  EXPECT_EQ(recorded[1].reads(0).count(), 1);
  Pass(absl::Minutes(1));
  ASSERT_TRUE(record_->Flush().ok());
  recorded = Recorded();
  ASSERT_EQ(recorded.size(), 3);
  EXPECT_EQ(recorded[2].time().seconds() - recorded[0].time().seconds(), 60);
}

TEST_F(AccessRecordTest, SplitsManyReadsAndBoundsThem) {
  Begin();
  const std::string longest =
      absl::StrCat("projects/", std::string(63, 'p'), "/ledgers/", std::string(59, 'l'));
  for (int i = 10'000; i < 20'050; ++i)
    record_->Reads("token:ann", "ask", absl::StrCat(longest, i), 0);
  record_->Reads("token:bob", "ask", "projects/p/ledgers/secret", 0);
  Pass(absl::Minutes(1));
  ASSERT_TRUE(record_->Flush().ok());
  uint64_t reads = 0, others = 0;
  size_t bytes = 0;
  for (const v1::Access& access : Recorded()) {
    if (access.caller() == "token:bob") {
      ASSERT_EQ(access.reads_size(), 1);
      EXPECT_EQ(access.reads(0).resource(), "projects/p/ledgers/secret");
      continue;
    }
    bytes += access.ByteSizeLong();
    for (const auto& read : access.reads()) {
      reads += read.count();
      if (read.resource() == "(others)") others += read.count();
    }
  }
  EXPECT_EQ(reads, 10'050);
  EXPECT_EQ(others, 10'050 - (64 * 1'024) / (longest.size() + 8 + 64));
  EXPECT_LT(bytes, 128 * 1'024);
}

TEST_F(AccessRecordTest, NoCallerHidesAnother) {
  Begin();
  const std::string ledger = "projects/p/ledgers/l";
  record_->Reads("token:zoe", "export", ledger, 14);
  for (int caller = 0; caller < 120; ++caller) {
    for (int i = 0; i < 1'000; ++i)
      record_->Reads(absl::StrCat("token:d", caller), "list", absl::StrCat("projects/", i), 0);
  }
  record_->Reads("token:zoe", "ask", ledger, 0);
  Pass(absl::Minutes(1));
  ASSERT_TRUE(record_->Flush().ok());
  uint64_t of_zoe = 0, lost = 0;
  for (const v1::Access& access : Recorded()) {
    if (access.caller() == "token:zoe") of_zoe += static_cast<uint64_t>(access.reads_size());
    if (access.refused().reason().starts_with("lost: ")) {
      EXPECT_TRUE(access.caller().starts_with("token:d")) << access.ShortDebugString();
      lost += access.refused().count();
    }
  }
  EXPECT_EQ(of_zoe, 2u);
  EXPECT_GT(lost, 0u) << "the case is one in which something is lost";
}

TEST_F(AccessRecordTest, NamesThatAreListedHideNoEntriesThatAreRead) {
  Begin();
  for (int i = 0; i < 2'000; ++i)
    record_->Reads("token:ann", "list", absl::StrCat("projects/", std::string(59, 'a'), i), 0);
  record_->Reads("token:ann", "export", "projects/p/ledgers/l", 6);
  Pass(absl::Minutes(1));
  ASSERT_TRUE(record_->Flush().ok());
  bool others = false, exported = false;
  for (const v1::Access& access : Recorded()) {
    for (const auto& read : access.reads()) {
      others |= read.resource() == kOthers;
      exported |= read.permission() == "export" && read.resource() == "projects/p/ledgers/l" &&
                  read.entries() == 6;
    }
  }
  EXPECT_TRUE(others);
  EXPECT_TRUE(exported);
}

// Put where a name belongs, by mistake: the record is for ever.
TEST_F(AccessRecordTest, HoldsNoTokens) {
  Begin();
  v1::Access::Refused refused = Why("no right");
  refused.set_resource("dpl_bqTbTG3uCBNBBe9Wnlqq3hOJ0Q8kXnCq1Uqk7m3Zt0Y1a2b3c");
  refused.set_request_id("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJib2IifQ.c2lnbmF0dXJl");
  record_->Refused("token:ann", /*identified=*/true, "192.0.2.1", refused);
  ASSERT_TRUE(record_->Flush().ok());
  const std::vector<v1::Access> recorded = Recorded();
  ASSERT_EQ(recorded.size(), 1);
  const std::string said = "(it looks like a token, and is not repeated)";
  EXPECT_EQ(recorded[0].refused().resource(), said);
  EXPECT_EQ(recorded[0].refused().request_id(), said);
  EXPECT_EQ(recorded[0].refused().reason(), "no right");
}

TEST_F(AccessRecordTest, RefusalsOneByOneUpToABound) {
  Begin();
  // Strangers hide nothing of one who is known; nor does whoever shows a token that they once had.
  for (int i = 0; i < 1'000; ++i)
    record_->Refused(i % 2 == 0 ? "" : "token:ann", /*identified=*/false, "192.0.2.1",
                     Why("no such token"));
  for (int i = 0; i < 70; ++i)
    record_->Refused("token:ann", /*identified=*/true, "192.0.2.2", Why("may not ask"));
  ASSERT_TRUE(record_->Flush().ok());
  EXPECT_EQ(Recorded().size(), 120);
  Pass(absl::Minutes(1));
  ASSERT_TRUE(record_->Flush().ok());
  const std::vector<v1::Access> recorded = Recorded();
  ASSERT_EQ(recorded.size(), 122);
  EXPECT_EQ(recorded[0].refused().reason(), "no such token");
  EXPECT_EQ(recorded[0].peer(), "192.0.2.1");
  EXPECT_EQ(recorded[0].caller(), "");
  EXPECT_EQ(recorded[1].caller(), "token:ann");
  EXPECT_EQ(recorded[1].peer(), "192.0.2.1");
  EXPECT_EQ(recorded[60].caller(), "token:ann");
  EXPECT_EQ(recorded[60].peer(), "192.0.2.2");
  EXPECT_EQ(recorded[120].caller(), "");
  EXPECT_EQ(recorded[120].refused().count(), 940);
  EXPECT_EQ(recorded[121].caller(), "token:ann");
  EXPECT_EQ(recorded[121].refused().count(), 10);
}

TEST_F(AccessRecordTest, WhatStrangersSendIsCutAndCleaned) {
  Begin();
  v1::Access::Refused refused = Why(absl::StrCat(std::string(5'000, '\x01'), "\"<\\"));
  refused.set_resource(std::string(5'000, '"'));
  refused.set_request_id("\xff\xfe");
  record_->Refused(std::string(5'000, '\\'), /*identified=*/true, std::string(5'000, '<'), refused);
  ASSERT_TRUE(record_->Flush().ok());
  ASSERT_EQ(Recorded().size(), 1);
  EXPECT_EQ(Recorded()[0].refused().resource(), std::string(512, '\''));
  EXPECT_EQ(Recorded()[0].refused().request_id(), "??");
}

TEST_F(AccessRecordTest, AdministrationIsStoredBeforeItIsDone) {
  Begin();
  EXPECT_TRUE(record_->Administers("token:root", "192.0.2.1", "CreateToken", "ann").ok());
  ASSERT_EQ(Recorded().size(), 1);
  EXPECT_EQ(Recorded()[0].administers().method(), "CreateToken");
  EXPECT_EQ(Recorded()[0].administers().about(), "ann");
  running_.store().FailAppends(absl::UnavailableError("the disk reported an error"));
  EXPECT_TRUE(IsError(record_->Administers("token:root", "", "RevokeToken", "ann"),
                      absl::StatusCode::kUnavailable, "ACCESS_NOT_RECORDED",
                      "administration is recorded before it is done"));
}

TEST_F(AccessRecordTest, WaitsForAStoreThatRefuses) {
  Begin();
  running_.store().FailAppends(absl::ResourceExhaustedError("the store's queue is full"));
  for (int i = 0; i < 5; ++i)
    record_->Refused("", /*identified=*/true, "192.0.2.1", Why(absl::StrCat("reason ", i)));
  EXPECT_FALSE(record_->Flush().ok());
  EXPECT_FALSE(record_->Flush().ok());
  running_.store().FailAppends(absl::OkStatus());
  record_->Refused("", /*identified=*/true, "192.0.2.1", Why("reason 5"));
  EXPECT_TRUE(record_->Flush().ok());
  const std::vector<v1::Access> recorded = Recorded();
  ASSERT_EQ(recorded.size(), 6);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(recorded[i].refused().reason(), absl::StrCat("reason ", i));
}

TEST_F(AccessRecordTest, SaysHowMuchWasLost) {
  Begin();
  running_.store().FailAppends(absl::ResourceExhaustedError("the store's queue is full"));
  for (int minute = 0; minute < 25; ++minute) {
    for (int i = 0; i < 120; ++i) record_->Refused("", /*identified=*/true, "", Why("no"));
    Pass(absl::Minutes(1));
  }
  running_.store().FailAppends(absl::OkStatus());
  EXPECT_TRUE(record_->Flush().ok());
  uint64_t count = 0;
  for (const v1::Access& access : Recorded()) count += access.refused().count();
  EXPECT_EQ(count, 3'000);
}

TEST_F(AccessRecordTest, ALedgerForEachMonthWhoseWriterCloses) {
  Begin();
  record_->Refused("", /*identified=*/true, "", Why("in November"));
  ASSERT_TRUE(record_->Flush().ok());
  clock_.Set(absl::FromCivil(absl::CivilMinute(2026, 12, 1, 0, 0), absl::UTCTimeZone()));
  record_->Refused("", /*identified=*/true, "", Why("in December"));
  ASSERT_TRUE(record_->Flush().ok());
  // Nothing goes back to a writer that has closed.
  clock_.Set(absl::FromCivil(absl::CivilMinute(2026, 11, 30, 23, 59), absl::UTCTimeZone()));
  record_->Refused("", /*identified=*/true, "", Why("the clock went back"));
  ASSERT_TRUE(record_->Flush().ok());
  EXPECT_EQ(Recorded(kNovember).size(), 1);
  EXPECT_EQ(Recorded(kDecember).size(), 2);
  record_->Stop();
  for (const char* ledger : {kNovember, kDecember}) {
    const v1::Ledger found = running_.Get(ledger);
    EXPECT_EQ(found.writer_count(), 1) << ledger;
    EXPECT_EQ(found.open_writer_count(), 0) << ledger;
  }
}

TEST_F(AccessRecordTest, ServersShareALedger) {
  AccessRecord first(&store(), &clock_, &log_);
  AccessRecord second(&store(), &clock_, &log_);
  first.Refused("", /*identified=*/true, "", Why("first"));
  second.Refused("", /*identified=*/true, "", Why("second"));
  ASSERT_TRUE(first.Flush().ok());
  ASSERT_TRUE(second.Flush().ok());
  first.Refused("", /*identified=*/true, "", Why("first again"));
  ASSERT_TRUE(first.Flush().ok());
  EXPECT_EQ(Recorded().size(), 3);
  EXPECT_EQ(running_.Get(kNovember).writer_count(), 2);
}

TEST_F(AccessRecordTest, StopRecordsWhatWaits) {
  Begin();
  record_->Reads("token:ann", "ask", "projects/p/ledgers/l", 0);
  record_->Refused("", /*identified=*/true, "", Why("no"));
  record_->Stop();
  EXPECT_EQ(Recorded().size(), 2);
}

// Even where nobody is asked who he is: the ledger is the server's.
TEST_F(AccessRecordTest, NobodyElseWritesToIt) {
  Begin();
  record_->Refused("", /*identified=*/true, "", Why("no"));
  ASSERT_TRUE(record_->Flush().ok());
  const auto refused = [](const grpc::Status& status) {
    return IsError(status, grpc::StatusCode::PERMISSION_DENIED, "RESERVED_PROJECT",
                   "projects/access-record is the server's own");
  };
  v1::LedgerService::Stub& ledgers = running_.ledgers();
  using Stub = v1::LedgerService::Stub;
  EXPECT_TRUE(refused(Call(ledgers, &Stub::AppendBatch, RoundBatch(kNovember, "w", "r", 0),
                           static_cast<v1::AppendBatchResponse*>(nullptr))));
  EXPECT_TRUE(refused(
      Call(ledgers, &Stub::SealLedger, SealRequest(kNovember), static_cast<v1::Ledger*>(nullptr))));
  v1::CreateLedgerRequest create;
  create.set_name("projects/access-record/ledgers/2027-01");
  EXPECT_TRUE(
      refused(Call(ledgers, &Stub::CreateLedger, create, static_cast<v1::Ledger*>(nullptr))));
  v1::ForkLedgerRequest fork;
  fork.set_name("projects/p/ledgers/copy");
  fork.set_parent(kNovember);
  EXPECT_TRUE(refused(Call(ledgers, &Stub::ForkLedger, fork, static_cast<v1::Ledger*>(nullptr))));
  EXPECT_EQ(Recorded().size(), 1);
}

TEST(AccessRecordNames, AreOfOneProject) {
  EXPECT_TRUE(IsOfServer("projects/access-record"));
  EXPECT_TRUE(IsOfServer(kNovember));
  EXPECT_TRUE(IsOfServer("projects/recomputations/ledgers/l"));
  EXPECT_TRUE(IsOfServer("projects/statements/ledgers/register"));
  EXPECT_TRUE(IsOfServer("projects/attention/ledgers/notes"));
  EXPECT_FALSE(IsOfServer("projects/statements-of-others/ledgers/register"));
  EXPECT_FALSE(IsOfServer("projects/access-record-2/ledgers/l"));
  EXPECT_FALSE(IsOfServer("projects/p/ledgers/access-record"));
  EXPECT_FALSE(IsOfServer(""));
}

}  // namespace
}  // namespace dpledger::server
