// Several servers on one PostgreSQL database, and what happens to their connections.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/ledger_store/acknowledged_load.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/signed_store.h"

namespace dpledger {
namespace {

using absl::StatusCode;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PostgresServers : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new PostgresServer(); }
  static void TearDownTestSuite() { delete server_; }
  void SetUp() override {
    first_ = Open();
    second_ = Open();
    ASSERT_TRUE(first_->Create(CreateRequest(kLedger)).ok());
  }
  void TearDown() override {
    first_.reset();
    second_.reset();
    server_->Must("DROP SCHEMA dpledger CASCADE");
  }

  static std::unique_ptr<LedgerStore> Open(Clock* clock = Clock::System()) {
    PostgresOptions options;
    options.clock = clock;
    options.connection = server_->Connection();
    auto store = OpenPostgresStore(options);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  std::vector<std::string> Wrong(const Acknowledged& acknowledged) {
    return WrongWith(ReadAll(*first_, kLedger), first_->Get(kLedger)->root_hash(), acknowledged);
  }

  static PostgresServer* server_;
  std::unique_ptr<LedgerStore> first_;
  std::unique_ptr<LedgerStore> second_;
};
PostgresServer* PostgresServers::server_ = nullptr;

TEST_F(PostgresServers, RaceForOneLedgerLeavesItDense) {
  AcknowledgedLoad load({first_.get(), second_.get()}, kLedger, 8);
  load.Await(400);
  load.Stop();
  EXPECT_THAT(load.surprises(), IsEmpty());
  EXPECT_THAT(Wrong(load.acknowledged()), IsEmpty());
  EXPECT_EQ(ReadAll(*first_, kLedger).size(), 1 + 2 * load.count());
  EXPECT_EQ(second_->Get(kLedger)->root_hash(), first_->Get(kLedger)->root_hash());
}

// The check above, on what a store without a compare-and-set would have left.
TEST_F(PostgresServers, CheckNoticesDoublesGapsAndLosses) {
  const auto receipt = first_->Append(RoundBatch(kLedger, "w", "r1", 1));
  ASSERT_TRUE(receipt.ok() && second_->Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
  const std::vector<std::string> entries = ReadAll(*first_, kLedger);
  const std::string root = first_->Get(kLedger)->root_hash();
  EXPECT_THAT(WrongWith(entries, root, {{"r1", *receipt}}), IsEmpty());
  EXPECT_THAT(WrongWith(entries, root, {{"r3", *receipt}}),
              Contains("r3 was acknowledged and is not there"));
  std::vector<std::string> doubled = entries;
  doubled.insert(doubled.end(), entries.begin() + 3, entries.end());
  EXPECT_THAT(WrongWith(doubled, root, {}), Contains(HasSubstr("r2 has 4 entries")));
  std::vector<std::string> holed = entries;
  holed.erase(holed.begin() + 1, holed.begin() + 3);
  EXPECT_THAT(WrongWith(holed, root, {}), Contains("entry 1 is another one"));
}

TEST_F(PostgresServers, RequestIsStoredOnceWhicheverServerGetsIt) {
  const v1::AppendBatchRequest request = RoundBatch(kLedger, "w", "r1", 1);
  std::vector<std::thread> senders;
  std::vector<absl::StatusOr<v1::Receipt>> receipts(20);
  for (size_t i = 0; i < receipts.size(); ++i) {
    senders.emplace_back([&, i] { receipts[i] = (i % 2 ? first_ : second_)->Append(request); });
  }
  for (std::thread& sender : senders) sender.join();
  for (const auto& receipt : receipts) {
    ASSERT_TRUE(receipt.ok()) << receipt.status();
    EXPECT_EQ(receipt->SerializeAsString(), receipts[0]->SerializeAsString());
  }
  EXPECT_EQ(ReadAll(*first_, kLedger).size(), 3u);
}

TEST_F(PostgresServers, LedgerIsMadeOnceWhicheverServerIsAsked) {
  const std::string name = "projects/p/ledgers/raced";
  std::vector<std::thread> askers;
  std::atomic<int> made = 0;
  std::atomic<int> refused = 0;
  for (int i = 0; i < 8; ++i) {
    askers.emplace_back([&, i] {
      const auto ledger =
          (i % 2 ? first_ : second_)->Create(CreateRequest(name, absl::StrCat("create", i)));
      if (ledger.ok()) ++made;
      if (IsError(ledger.status(), StatusCode::kAlreadyExists, "LEDGER_EXISTS", name)) ++refused;
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(refused, 7);
}

// The lease to sign, between two servers whose steady clocks the test sets.
class PostgresLease : public PostgresServers {
 protected:
  void SetUp() override {
    PostgresServers::SetUp();
    first_ = Open(&first_clock_);
    second_ = Open(&second_clock_);
  }
  absl::StatusOr<uint64_t> First() {
    return first_->checkpoints().AcquireLease("host-1.example:17:0af3", kLease);
  }
  absl::StatusOr<uint64_t> Second() {
    return second_->checkpoints().AcquireLease("host-2.example:17:0af3", kLease);
  }
  static bool IsElsewhere(const absl::StatusOr<uint64_t>& epoch) {
    return absl::IsUnavailable(epoch.status()) &&
           ReasonOf(epoch.status()).reason == "SIGNER_ELSEWHERE";
  }

  static constexpr absl::Duration kLease = absl::Seconds(15);
  TestClock first_clock_;
  TestClock second_clock_;
};

TEST_F(PostgresLease, StaysWithTheOneThatRenewsIt) {
  const auto epoch = First();
  ASSERT_TRUE(epoch.ok()) << epoch.status();
  std::string beat;
  for (int i = 0; i < 4; ++i) {
    const auto second = Second();
    EXPECT_TRUE(
        IsError(second.status(), StatusCode::kUnavailable, "SIGNER_ELSEWHERE", "another server"));
    EXPECT_NE(ReasonOf(second.status()).metadata["beat"], beat);
    beat = ReasonOf(second.status()).metadata["beat"];
    second_clock_.Advance(10 * kLease);
    EXPECT_EQ(*First(), *epoch);
  }
  // A publication is a sign of life too.
  ASSERT_TRUE(IsElsewhere(Second()));
  second_clock_.Advance(10 * kLease);
  Publication publication;
  publication.lease_epoch = *epoch;
  ASSERT_TRUE(first_->checkpoints().Publish(publication).ok());
  EXPECT_TRUE(IsElsewhere(Second()));
}

TEST_F(PostgresLease, PassesOnWhenItWasNotRenewedForItsLength) {
  const auto epoch = First();
  ASSERT_TRUE(epoch.ok()) << epoch.status();
  EXPECT_TRUE(IsElsewhere(Second()));
  second_clock_.Advance(kLease - absl::Nanoseconds(1));
  EXPECT_TRUE(IsElsewhere(Second()));
  second_clock_.Advance(absl::Nanoseconds(1));
  const auto later = Second();
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_EQ(*later, *epoch + 1);
  EXPECT_TRUE(IsElsewhere(First()));
  Publication publication;
  publication.lease_epoch = *epoch;
  EXPECT_TRUE(IsError(first_->checkpoints().Publish(publication), StatusCode::kAborted,
                      "SIGNER_REPLACED", "lease_epoch: another signer has taken over"));
  publication.lease_epoch = *later;
  EXPECT_TRUE(second_->checkpoints().Publish(publication).ok());
}

// Once the database's clock jumped ahead while a signer died, and nobody signed for 400 days.
TEST_F(PostgresLease, NoTimeOfDayDecides) {
  const auto epoch = First();
  first_clock_.Advance(absl::Hours(400 * 24));
  EXPECT_EQ(*First(), *epoch);
  ASSERT_TRUE(IsElsewhere(Second()));
  first_clock_.Advance(-absl::Hours(400 * 24));
  second_clock_.Advance(kLease);
  EXPECT_TRUE(Second().ok());
  EXPECT_EQ(server_->Must("SELECT count(*) FROM information_schema.columns WHERE table_schema ="
                          " 'dpledger' AND data_type LIKE 'time%'"),
            "0");
}

TEST_F(PostgresLease, PassesOnAtOnceWhenItWasReleased) {
  const auto epoch = First();
  ASSERT_TRUE(IsElsewhere(Second()));
  ASSERT_TRUE(second_->checkpoints().ReleaseLease("host-2.example:17:0af3").ok());  // not its own
  ASSERT_TRUE(IsElsewhere(Second()));
  ASSERT_TRUE(first_->checkpoints().ReleaseLease("host-1.example:17:0af3").ok());
  EXPECT_EQ(*Second(), *epoch + 1);
  EXPECT_TRUE(IsElsewhere(First()));
  // Its holder may take a released lease again, but never under the old epoch.
  ASSERT_TRUE(second_->checkpoints().ReleaseLease("host-2.example:17:0af3").ok());
  EXPECT_EQ(*Second(), *epoch + 2);
}

TEST_F(PostgresLease, OneOfThoseWhoWaitedGetsIt) {
  ASSERT_TRUE(First().ok());
  constexpr int kContenders = 8;
  std::vector<std::unique_ptr<LedgerStore>> stores;
  const auto acquire = [&](int i) {
    return stores[i]->checkpoints().AcquireLease(absl::StrCat("contender-", i), kLease);
  };
  for (int i = 0; i < kContenders; ++i) {
    stores.push_back(Open(&second_clock_));
    EXPECT_TRUE(IsElsewhere(acquire(i)));
  }
  second_clock_.Advance(kLease);
  std::vector<std::thread> contenders;
  std::atomic<int> taken = 0;
  for (int i = 0; i < kContenders; ++i) {
    contenders.emplace_back([&, i] {
      const auto epoch = acquire(i);
      if (epoch.ok()) ++taken;
      EXPECT_TRUE(epoch.ok() || IsElsewhere(epoch)) << epoch.status();
    });
  }
  for (std::thread& contender : contenders) contender.join();
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(server_->Must("SELECT epoch FROM dpledger.signer"), "2");
}

TEST_F(PostgresLease, HolderMustBeAName) {
  for (const std::string& holder : {std::string(), std::string("a b"), std::string("a\0", 2)}) {
    for (const absl::Status& refused :
         {second_->checkpoints().AcquireLease(holder, kLease).status(),
          second_->checkpoints().ReleaseLease(holder)}) {
      EXPECT_TRUE(IsError(refused, StatusCode::kInvalidArgument, "INVALID_FIELD",
                          "holder: must be 1 to 512"));
    }
  }
}

// A caller of one server waits for a signature that another one makes.
TEST_F(PostgresServers, WhoeverSignsHearsWhichLedgersAreWaitedFor) {
  CheckpointStore& waiting = second_->checkpoints();
  CheckpointStore& signing = first_->checkpoints();
  const std::string other = "projects/p/ledgers/other";
  ASSERT_TRUE(first_->Create(CreateRequest(other)).ok());
  EXPECT_THAT(*signing.TakeWanted(), IsEmpty());
  EXPECT_EQ(waiting.Want({kLedger, "projects/p/ledgers/none"}), absl::OkStatus());
  EXPECT_EQ(waiting.Want({kLedger}), absl::OkStatus());
  EXPECT_THAT(*signing.TakeWanted(), ElementsAre(kLedger));
  EXPECT_THAT(*signing.TakeWanted(), IsEmpty());
}

TEST_F(PostgresServers, OneLedgerIsSignedWithoutTheOthers) {
  const std::string other = "projects/p/ledgers/other";
  ASSERT_TRUE(first_->Create(CreateRequest(other)).ok());
  const auto open = [](LedgerStore& store, const std::string& holder) {
    NotaryOptions options;
    options.key = KeyFromByte('k');
    options.holder = holder;
    return *Notary::Open(options, store);
  };
  const auto signs = open(*first_, "signs"), follows = open(*second_, "follows");
  EXPECT_TRUE(signs->Sign().ok());
  for (const std::string& ledger : {std::string(kLedger), other}) {
    ASSERT_TRUE(first_->Append(RoundBatch(ledger, "w", "r", 1)).ok());
  }
  const auto followed = follows->SignOnly({kLedger});
  ASSERT_TRUE(followed.ok()) << followed.status();
  EXPECT_TRUE(followed->elsewhere);
  const auto round = signs->SignOnly({});
  ASSERT_TRUE(round.ok()) << round.status();
  EXPECT_EQ(round->ledgers, 1u);
  EXPECT_TRUE(follows->SignOnly({}).ok());
  EXPECT_EQ(follows->Latest(kLedger)->value().checkpoint.size, first_->Get(kLedger)->size());
  EXPECT_LT(follows->Latest(other)->value().checkpoint.size, first_->Get(other)->size());
  EXPECT_EQ(signs->Sign()->ledgers, 1u);
}

TEST_F(PostgresServers, EndedConnectionsLoseAndDoubleNothing) {
  AcknowledgedLoad load({first_.get(), second_.get()}, kLedger, 8);
  for (size_t i = 1; i <= 30; ++i) {
    load.Await(10 * i);
    server_->Must(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE application_name = 'dpledger'");
  }
  load.Stop(absl::Minutes(1));
  EXPECT_THAT(load.surprises(), IsEmpty());
  EXPECT_THAT(Wrong(load.acknowledged()), IsEmpty());
  EXPECT_EQ(ReadAll(*first_, kLedger).size(), 1 + 2 * load.count());
}

TEST_F(PostgresServers, StoppedDatabaseIsUnavailableAndTakenUpAgain) {
  ASSERT_TRUE(first_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  server_->Stop();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(IsError(first_->Append(RoundBatch(kLedger, "w", "r2", 2)).status(),
                        StatusCode::kUnavailable, "STORE_UNREACHABLE", "cannot be reached"));
    EXPECT_TRUE(IsError(first_->Get(kLedger).status(), StatusCode::kUnavailable,
                        "STORE_UNREACHABLE", "cannot be reached"));
  }
  EXPECT_TRUE(first_->Healthy());
  server_->Start();
  EXPECT_TRUE(first_->Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
  EXPECT_EQ(second_->Get(kLedger)->size(), 5u);
}

// As its file may hold for a while: what nobody takes, and nothing.
TEST_F(PostgresServers, AWrongConnectionStringIsPassedOver) {
  absl::StatusOr<std::string> now = server_->Connection();
  PostgresOptions options;
  options.connection = "host=/nowhere";
  EXPECT_FALSE(OpenPostgresStore(options).ok());
  options.connection = *now;
  options.connection_now = [&] { return now; };
  const auto store = *OpenPostgresStore(options);
  uint64_t round = 0;
  const auto append = [&] {
    server_->Must(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE application_name = 'dpledger'");
    ++round;
    absl::Status status;
    for (int i = 0; i < 20; ++i) {  // one for each connection that has just been ended
      status = store->Append(RoundBatch(kLedger, "w", absl::StrCat("r", round), round)).status();
      if (!absl::IsUnavailable(status)) break;
    }
    return status;
  };
  EXPECT_EQ(append(), absl::OkStatus());
  for (const absl::StatusOr<std::string>& slip : {absl::StatusOr<std::string>("sslmod=verify-full"),
                                                  {"host='"},
                                                  {"host=/nowhere"},
                                                  {absl::NotFoundError("the file is away")}}) {
    now = slip;
    EXPECT_EQ(append(), absl::OkStatus());
    EXPECT_TRUE(store->Healthy());
  }
}

TEST_F(PostgresServers, ASchemaOrRightThatIsAwayIsWaitedFor) {
  ASSERT_TRUE(first_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  for (const char* gone : {"ALTER SCHEMA dpledger RENAME TO elsewhere",
                           "ALTER TABLE dpledger.requests RENAME TO elsewhere"}) {
    server_->Must(gone);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(first_->Append(RoundBatch(kLedger, "w", "r2", 2)).status().code(),
                StatusCode::kUnavailable);
      server_->Must(
          "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
          " WHERE application_name = 'dpledger'");
    }
    EXPECT_TRUE(first_->Healthy());
    server_->Must(std::string_view(gone).find("SCHEMA") != std::string_view::npos
                      ? "ALTER SCHEMA elsewhere RENAME TO dpledger"
                      : "ALTER TABLE dpledger.elsewhere RENAME TO requests");
  }
  absl::Status status = absl::UnavailableError("");
  for (int i = 0; i < 20 && absl::IsUnavailable(status); ++i) {
    status = first_->Append(RoundBatch(kLedger, "w", "r2", 2)).status();
  }
  EXPECT_EQ(status, absl::OkStatus());
}

TEST_F(PostgresServers, DamagedChunkIsNotHandedOut) {
  ASSERT_TRUE(first_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  ASSERT_TRUE(first_->Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
  server_->Must(
      "UPDATE dpledger.chunks SET body = set_byte(body, 20, get_byte(body, 20) # 1)"
      " WHERE first_seq = 1");
  EXPECT_TRUE(IsError(first_->Read(kLedger, 0, 9, 1 << 20).status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/a: the entries from 1 on: does not match its hash"));
  EXPECT_EQ(first_->Read(kLedger, 3, 9, 1 << 20)->size(), 2u);
  server_->Must("DELETE FROM dpledger.chunks WHERE first_seq = 3");
  EXPECT_TRUE(IsError(first_->Read(kLedger, 3, 9, 1 << 20).status(), StatusCode::kDataLoss, "",
                      "entry 3 is missing"));
}

TEST_F(PostgresServers, DamagedHeadSpoilsNoOtherLedger) {
  const std::string other = "projects/p/ledgers/b";
  ASSERT_TRUE(first_->Create(CreateRequest(other)).ok());
  server_->Must("UPDATE dpledger.ledgers SET next_seq = 7 WHERE name = '" + kLedger + "'");
  std::vector<std::thread> senders;
  std::vector<absl::Status> answers(8);
  for (size_t i = 0; i < answers.size(); ++i) {
    senders.emplace_back([&, i] {
      answers[i] = first_
                       ->Append(RoundBatch(i % 2 ? other : kLedger, absl::StrCat("w", i),
                                           absl::StrCat("r", i), 1))
                       .status();
    });
  }
  for (std::thread& sender : senders) sender.join();
  for (size_t i = 0; i < answers.size(); ++i) {
    if (i % 2) {
      EXPECT_TRUE(answers[i].ok()) << answers[i];
    } else {
      EXPECT_TRUE(IsError(answers[i], StatusCode::kDataLoss, "", "another size or root"));
    }
  }
}

}  // namespace
}  // namespace dpledger
