// Who brings an entry: what is stored of it, whose a writer's name is, and whom a receipt is for.
#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "ledger_store/bundle/ledger_rules.h"
#include "tests/ledger_store/conformance_test.h"

namespace dpledger {
namespace {

using absl::StatusCode;

const std::string kAlice = "token:alice";
const std::string kBob = "spiffe://example.org/bob";

::testing::AssertionResult IsOfAnother(const absl::Status& status) {
  return IsError(status, StatusCode::kPermissionDenied, "WRITER_OF_ANOTHER_CALLER",
                 "writer: w belongs to another caller");
}

std::vector<std::string> CallersOf(const std::vector<v1::LedgerEntry>& entries) {
  std::vector<std::string> callers;
  for (const v1::LedgerEntry& entry : entries) callers.push_back(entry.caller());
  return callers;
}

// What the readers of a bundle say of the ledger's entries.
absl::Status Verify(LedgerStore& store, const std::string& name = kLedger) {
  bundle::LedgerRules rules;
  const v1::Ledger ledger = *store.Get(name);
  const std::vector<std::string> entries = store.Read(name, 0, 1 << 20, 1 << 30).value();
  for (const std::string& entry : entries) {
    if (absl::Status added = rules.Add(entry); !added.ok()) return added;
  }
  for (const v1::WriterStatus& writer : ledger.writers()) {
    if (rules.StatusOf(writer.writer())->owner() == writer.owner()) continue;
    return absl::InternalError(absl::StrCat(writer.writer(), ": of ", writer.owner()));
  }
  return absl::OkStatus();
}

TEST_P(LedgerStoreConformance, FirstEntryOfARequestNamesTheCaller) {
  ASSERT_TRUE(store_->Create(CreateRequest(kLedger), kAlice).ok());
  v1::AppendBatchRequest batch = RoundBatch(kLedger, "w", "r1", 1);
  AddNote(batch, "x");
  ASSERT_TRUE(store_->Append(batch, kAlice).ok());
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "v", "r2", 1), kBob).ok());
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "u", "r3", 1)).ok());
  v1::ForkLedgerRequest fork;
  fork.set_parent(kLedger);
  fork.set_name("projects/p/ledgers/child");
  fork.set_request_id("fork");
  const v1::Ledger child = *store_->Fork(fork, PointOf(*store_, kLedger, 2), kBob);
  EXPECT_EQ(child.creator(), kBob);
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.set_open_writers_are_missing(true);
  ASSERT_TRUE(store_->Seal(seal, "dns:ci.example").ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(CallersOf(WholeLedger(kLedger)),
              (std::vector<std::string>{kAlice, kAlice, "", "", kBob, "", "", "", kBob,
                                        "dns:ci.example"}));
    EXPECT_EQ(CallersOf(WholeLedger("projects/p/ledgers/child")), std::vector<std::string>{kBob});
    EXPECT_EQ(store_->Get(kLedger)->creator(), kAlice);
    EXPECT_EQ(store_->List("projects/p", "", 2)->at(1).creator(), kBob);
    EXPECT_TRUE(Verify(*store_).ok()) << Verify(*store_);
    Reopen();
  }
}

TEST_P(LedgerStoreConformance, WriterBelongsToTheFirstCaller) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1), kAlice).ok());
  const std::string before = store_->Get(kLedger)->SerializeAsString();
  for (int i = 0; i < 2; ++i) {
    const absl::Status refused = store_->Append(RoundBatch(kLedger, "w", "r2", 2), kBob).status();
    EXPECT_TRUE(IsOfAnother(refused));
    EXPECT_EQ(ReasonOf(refused).metadata["field"], "writer");
    EXPECT_FALSE(absl::StrContains(refused.ToString(), kAlice)) << "whose it is, is not said";
    EXPECT_EQ(store_->Get(kLedger)->SerializeAsString(), before);
    Reopen();
  }
  EXPECT_EQ(store_->Get(kLedger)->writers(0).owner(), kAlice);
  // Another name is free, and his own is still hers. So is the name in another ledger.
  EXPECT_TRUE(store_->Append(RoundBatch(kLedger, "v", "r2", 1), kBob).ok());
  EXPECT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r3", 2), kAlice).ok());
  ASSERT_TRUE(store_->Create(CreateRequest("projects/p/ledgers/b")).ok());
  EXPECT_TRUE(store_->Append(RoundBatch("projects/p/ledgers/b", "w", "r1", 1), kBob).ok());
  EXPECT_TRUE(Verify(*store_).ok()) << Verify(*store_);
}

// Not only its first batch: after thousands, in the group that the owner's own batch is in, and at
// its end, where a CONFLICT or a late entry would otherwise tell of it.
TEST_P(LedgerStoreConformance, NoBatchOfAnotherCallerLeavesATrace) {
  CreateLedger(kLedger);
  for (uint64_t round = 1; round <= 20; ++round) {
    const std::string id = absl::StrCat("r", round);
    ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", id, round), kAlice).ok());
  }
  v1::AppendBatchRequest opening = Batch(kLedger, "w", "open");
  opening.set_incarnation("i1");
  opening.add_entries()->mutable_opened()->set_incarnation("i1");
  ASSERT_TRUE(store_->Append(opening, kAlice).ok());
  const uint64_t size = store_->Get(kLedger)->size();
  v1::AppendBatchRequest late = Batch(kLedger, "w", "late");
  late.add_entries()->mutable_late_event()->mutable_event()->mutable_sum_query()->set_round(1);
  opening.set_request_id("other");
  opening.set_incarnation("i2");
  opening.mutable_entries(0)->mutable_opened()->set_incarnation("i2");
  for (const v1::AppendBatchRequest& batch :
       {late, opening, RoundBatch(kLedger, "w", "fenced-off", 30)}) {
    EXPECT_TRUE(IsOfAnother(store_->Append(batch, kBob).status())) << batch.request_id();
  }
  EXPECT_EQ(store_->Get(kLedger)->size(), size);
  EXPECT_TRUE(IsError(store_->Append(RoundBatch(kLedger, "w", "fenced-off", 30), kAlice).status(),
                      StatusCode::kFailedPrecondition, "FENCED_OFF", "was opened again"));
  const std::vector<v1::LedgerEntry> entries = WholeLedger(kLedger);
  ASSERT_EQ(entries.size(), size + 1);
  EXPECT_TRUE(entries.back().has_conflict());
  EXPECT_EQ(entries.back().caller(), kAlice);
  EXPECT_TRUE(Verify(*store_).ok()) << Verify(*store_);
}

TEST_P(LedgerStoreConformance, RepeatedRequestIsAnsweredToItsCallerAlone) {
  ASSERT_TRUE(store_->Create(CreateRequest(kLedger), kAlice).ok());
  v1::AppendBatchRequest batch = RoundBatch(kLedger, "w", "r1", 1);
  batch.set_writer_position(0);
  const v1::Receipt receipt = *store_->Append(batch, kAlice);
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.add_missing_writers("w");
  const v1::Ledger sealed = *store_->Seal(seal, kAlice);
  for (int i = 0; i < 2; ++i) {
    const auto again = store_->Append(batch, kAlice);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->SerializeAsString(), receipt.SerializeAsString());
    EXPECT_TRUE(IsOfAnother(store_->Append(batch, kBob).status()));
    v1::AppendBatchRequest by_his_writer = RoundBatch(kLedger, "v", "r1", 1);
    EXPECT_TRUE(IsError(store_->Append(by_his_writer, kBob).status(), StatusCode::kInvalidArgument,
                        "REQUEST_ID_REUSED", "request_id"));
    EXPECT_EQ(store_->Seal(seal, kAlice)->root_hash(), sealed.root_hash());
    const absl::Status refused = store_->Seal(seal, kBob).status();
    EXPECT_TRUE(IsError(refused, StatusCode::kPermissionDenied, "REQUEST_OF_ANOTHER_CALLER",
                        "request_id: was used by another caller"));
    EXPECT_TRUE(store_->Create(CreateRequest(kLedger), kAlice).ok());
    EXPECT_TRUE(IsError(store_->Create(CreateRequest(kLedger), kBob).status(),
                        StatusCode::kAlreadyExists, "LEDGER_EXISTS", "made by another request"));
    Reopen();
  }
  // Though the record of the answer is lost, and the entries alone know it.
  ForgetAnswer("r1");
  EXPECT_TRUE(IsOfAnother(store_->Append(batch, kBob).status()));
  EXPECT_EQ(store_->Append(batch, kAlice)->SerializeAsString(), receipt.SerializeAsString());
}

TEST_P(LedgerStoreConformance, ForkIsAnsweredToItsCallerAloneAndHasWritersOfItsOwn) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1), kAlice).ok());
  v1::ForkLedgerRequest fork;
  fork.set_parent(kLedger);
  fork.set_name("projects/p/ledgers/child");
  fork.set_request_id("fork");
  const LedgerPoint point = PointOf(*store_, kLedger, 3);
  ASSERT_TRUE(store_->Fork(fork, point, kBob).ok());
  Reopen();
  EXPECT_TRUE(store_->Fork(fork, point, kBob).ok());
  EXPECT_TRUE(IsError(store_->Fork(fork, point, kAlice).status(), StatusCode::kAlreadyExists,
                      "LEDGER_EXISTS", "made by another request"));
  EXPECT_TRUE(store_->Append(RoundBatch(fork.name(), "w", "r1", 1), kBob).ok());
  EXPECT_TRUE(IsOfAnother(store_->Append(RoundBatch(fork.name(), "w", "r2", 2), kAlice).status()));
  EXPECT_TRUE(IsOfAnother(store_->Append(RoundBatch(kLedger, "w", "r2", 2), kBob).status()));
  EXPECT_TRUE(Verify(*store_, fork.name()).ok());
}

// A server that is started without --identity, with it, without it, and with it again.
TEST_P(LedgerStoreConformance, WriterWithoutACallerBelongsToTheFirstThatGoesOn) {
  CreateLedger(kLedger);
  const v1::Receipt old = *store_->Append(RoundBatch(kLedger, "w", "r1", 1));
  EXPECT_EQ(store_->Get(kLedger)->writers(0).owner(), "");
  // A retry of a batch whose entries name nobody is answered to whoever may append, and makes
  // nobody the owner.
  EXPECT_EQ(store_->Append(RoundBatch(kLedger, "w", "r1", 1), kBob)->SerializeAsString(),
            old.SerializeAsString());
  EXPECT_EQ(store_->Get(kLedger)->creator(), "");
  EXPECT_TRUE(store_->Create(CreateRequest(kLedger), kBob).ok());
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r2", 2), kAlice).ok());
  Reopen();
  EXPECT_TRUE(IsOfAnother(store_->Append(RoundBatch(kLedger, "w", "r3", 3), kBob).status()));
  EXPECT_TRUE(IsOfAnother(store_->Append(RoundBatch(kLedger, "w", "r1", 1), kBob).status()));
  EXPECT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r3", 3)).ok());
  EXPECT_EQ(store_->Get(kLedger)->writers(0).owner(), kAlice);
  EXPECT_TRUE(IsOfAnother(store_->Append(RoundBatch(kLedger, "w", "r4", 4), kBob).status()));
  EXPECT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r4", 4), kAlice).ok());
  EXPECT_EQ(CallersOf(WholeLedger(kLedger)),
            (std::vector<std::string>{"", "", "", kAlice, "", "", "", kAlice, ""}));
  EXPECT_TRUE(Verify(*store_).ok()) << Verify(*store_);
}

// A CONFLICT is an entry of the writer that names a caller, as any other.
TEST_P(LedgerStoreConformance, RefusedBatchCanMakeAnOwnerToo) {
  CreateLedger(kLedger);
  v1::AppendBatchRequest opening = Batch(kLedger, "w", "open");
  opening.set_incarnation("i1");
  opening.add_entries()->mutable_opened()->set_incarnation("i1");
  ASSERT_TRUE(store_->Append(opening).ok());
  EXPECT_TRUE(IsError(store_->Append(RoundBatch(kLedger, "w", "r1", 1), kBob).status(),
                      StatusCode::kFailedPrecondition, "FENCED_OFF", "was opened again"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(CallersOf(WholeLedger(kLedger)), (std::vector<std::string>{"", "", kBob}));
    EXPECT_EQ(store_->Get(kLedger)->writers(0).owner(), kBob);
    EXPECT_TRUE(IsOfAnother(store_->Append(RoundBatch(kLedger, "w", "r1", 1), kAlice).status()));
    EXPECT_TRUE(Verify(*store_).ok()) << Verify(*store_);
    Reopen();
  }
}

TEST_P(LedgerStoreConformance, CallerIsAPlainName) {
  const std::string longest(512, '~');
  ASSERT_TRUE(store_->Create(CreateRequest(kLedger), longest).ok());
  EXPECT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1), longest).ok());
  for (const std::string& name : {std::string("a b"), std::string("a\n"), longest + "~"}) {
    const auto refused = [&](const absl::Status& status) {
      return IsError(status, StatusCode::kInvalidArgument, "", "caller must be 1 to 512 bytes");
    };
    EXPECT_TRUE(refused(store_->Append(RoundBatch(kLedger, "v", "r2", 1), name).status()));
    EXPECT_TRUE(refused(store_->Create(CreateRequest("projects/p/ledgers/b"), name).status()));
    EXPECT_TRUE(refused(store_->Seal(SealRequest(kLedger), name).status()));
  }
  EXPECT_TRUE(Verify(*store_).ok()) << Verify(*store_);
}

// 100 events pay for one name, and a writer's row for another.
TEST_P(LedgerStoreConformance, BatchPaysForOneName) {
  const auto bytes = [&](const std::string& name, const std::string& caller) {
    EXPECT_TRUE(store_->Create(CreateRequest(name)).ok());
    v1::AppendBatchRequest batch = Batch(name, "w", "r1");
    for (uint64_t round = 1; round <= 100; ++round) AddSumQuery(batch, round);
    EXPECT_TRUE(store_->Append(batch, caller).ok());
    size_t sum = 0;
    const std::vector<std::string> entries = store_->Read(name, 1, 1000, 1 << 30).value();
    for (const std::string& entry : entries) sum += entry.size();
    return sum;
  };
  const std::string name = "spiffe://example.org/ns/ml/sa/trainer-0";
  EXPECT_EQ(bytes("projects/p/ledgers/with", name),
            bytes("projects/p/ledgers/none", "") + 2 + name.size());
}

TEST_P(LedgerStoreConformance, TenThousandWritersHaveTheirOwners) {
  constexpr int kWriters = 10'000;
  CreateLedger(kLedger);
  const auto batch = [](int i, uint64_t round) {
    return RoundBatch(kLedger, absl::StrCat("w", i), absl::StrCat("r", i, "-", round), round);
  };
  const auto owner = [](int i) { return absl::StrCat("token:t", i % 97); };
  const auto append = [&](uint64_t round, int shift) {
    absl::BlockingCounter left(kWriters);
    std::atomic<int> taken = 0;
    for (int i = 0; i < kWriters; ++i) {
      store_->AppendAsync(batch(i, round), owner(i + shift), nullptr,
                          [&](const absl::StatusOr<v1::Receipt>& receipt) {
                            taken += receipt.ok() ? 1 : 0;
                            left.DecrementCount();
                          });
    }
    left.Wait();
    return taken.load();
  };
  EXPECT_EQ(append(1, 0), kWriters);
  EXPECT_EQ(append(2, 1), 0);
  Reopen();
  EXPECT_EQ(append(2, 5), 0);
  EXPECT_EQ(append(2, 0), kWriters);
  EXPECT_EQ(store_->Get(kLedger)->size(), 1u + 4 * kWriters);
  EXPECT_TRUE(Verify(*store_).ok()) << Verify(*store_);
}

}  // namespace
}  // namespace dpledger
