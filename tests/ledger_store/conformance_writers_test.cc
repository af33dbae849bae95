// Ledgers with many writers: their end, and what is said of them.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/blocking_counter.h"
#include "events/seal_rules.h"
#include "ledger_store/bundle/ledger_rules.h"
#include "tests/ledger_store/conformance_test.h"

namespace dpledger {
namespace {

using absl::StatusCode;

std::string WriterName(int i) { return absl::StrFormat("w-%06d", i); }

void AddWriters(LedgerStore& store, int writers) {
  constexpr int kAtOnce = 10'000;  // a queue has a limit
  for (int first = 0; first < writers; first += kAtOnce) {
    const int end = std::min(writers, first + kAtOnce);
    absl::BlockingCounter left(end - first);
    for (int i = first; i < end; ++i) {
      store.AppendAsync(RoundBatch(kLedger, WriterName(i), absl::StrCat("r", i), 1),
                        [&](const absl::StatusOr<v1::Receipt>& receipt) {
                          EXPECT_TRUE(receipt.ok()) << receipt.status();
                          left.DecrementCount();
                        });
    }
    left.Wait();
  }
}

// What the readers of a bundle say of the ledger's entries.
absl::Status Verify(LedgerStore& store) {
  bundle::LedgerRules rules;
  const uint64_t size = store.Get(kLedger, kNoWriters)->size();
  while (rules.size() < size) {
    const auto page = store.Read(kLedger, rules.size(), 1000, 1 << 20);
    if (!page.ok()) return page.status();
    for (const std::string& entry : *page) {
      if (absl::Status added = rules.Add(entry); !added.ok()) return added;
    }
  }
  return rules.sealed() ? absl::OkStatus() : absl::InternalError("no SEAL");
}

// 60,000 writers could not be sealed once: their names did not fit in an entry.
TEST_P(LedgerStoreConformance, SealTakesMoreWritersThanAnEntryCouldName) {
  constexpr int kWriters = 10'000;  // 65,535 bytes hold 6,553 of these names
  CreateLedger(kLedger);
  AddWriters(*store_, kWriters);
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  const absl::Status refused = store_->Seal(seal).status();
  EXPECT_TRUE(IsError(refused, StatusCode::kFailedPrecondition, "WRITERS_OPEN",
                      "not closed: w-000000, w-000001, "));
  EXPECT_TRUE(absl::StrContains(std::string(refused.message()), "w-000019, and 9980 more"));
  EXPECT_EQ(ReasonOf(refused).metadata["open_writers"], "10000");

  seal.set_open_writers_are_missing(true);
  const absl::StatusOr<v1::Ledger> sealed = store_->Seal(seal);
  ASSERT_TRUE(sealed.ok()) << sealed.status();
  EXPECT_EQ(sealed->state(), v1::SEALED);
  EXPECT_EQ(sealed->writers_size(), 1000) << "an answer has a bound";
  Reopen();
  EXPECT_EQ(store_->Seal(seal)->root_hash(), sealed->root_hash()) << "once";
  const auto last = store_->Read(kLedger, sealed->size() - 1, 1, 1);
  v1::LedgerEntry entry;
  ASSERT_TRUE(entry.ParseFromString(last->at(0)));
  EXPECT_EQ(entry.seal().missing_writers_size(), 0);
  EXPECT_EQ(entry.seal().missing_count(), 10000u);
  EXPECT_EQ(entry.seal().missing_digest().size(), 32u);
  EXPECT_TRUE(Verify(*store_).ok()) << Verify(*store_);
}

TEST_P(LedgerStoreConformance, SealNamesUpTo500WritersAndCountsMore) {
  for (const int writers : {500, 501}) {
    for (const bool named : {false, true}) {
      store_.reset();
      SetUp();
      CreateLedger(kLedger);
      AddWriters(*store_, writers);
      v1::AppendBatchRequest close = Batch(kLedger, "closed", "close");
      close.add_entries()->mutable_writer_closed()->set_entry_count(1);
      ASSERT_TRUE(store_->Append(close).ok());
      v1::SealLedgerRequest seal = SealRequest(kLedger);
      if (named) {
        for (int i = writers; i-- > 0;) seal.add_missing_writers(WriterName(i));
      } else {
        seal.set_open_writers_are_missing(true);
      }
      const absl::StatusOr<v1::Ledger> sealed = store_->Seal(seal);
      ASSERT_TRUE(sealed.ok()) << sealed.status();
      EXPECT_EQ(sealed->writer_count(), static_cast<uint64_t>(writers) + 1);
      EXPECT_EQ(sealed->open_writer_count(), static_cast<uint64_t>(writers));
      const v1::Seal stored = WholeLedger(kLedger).back().seal();
      EXPECT_EQ(stored.missing_writers_size(), writers == 500 ? 500 : 0);
      EXPECT_EQ(stored.missing_count(), writers == 500 ? 0u : 501u);
      EXPECT_TRUE(Verify(*store_).ok()) << Verify(*store_);
    }
  }
}

TEST_P(LedgerStoreConformance, SealThatCountsTakesTheLedgersWritersOnly) {
  CreateLedger(kLedger);
  AddWriters(*store_, 500);
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  for (int i = 0; i < 501; ++i) seal.add_missing_writers(WriterName(i));
  EXPECT_TRUE(IsError(store_->Seal(seal).status(), StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "missing_writers: must be writers of the ledger where they are more than "
                      "500: w-000500 has written nothing"));
  seal.set_open_writers_are_missing(true);
  EXPECT_TRUE(IsError(store_->Seal(seal).status(), StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "missing_writers: must be empty where open_writers_are_missing is set"));
  EXPECT_EQ(store_->Get(kLedger)->state(), v1::OPEN);
}

TEST_P(LedgerStoreConformance, DescribesTheWritersOfARange) {
  CreateLedger(kLedger);
  AddWriters(*store_, 30);
  v1::AppendBatchRequest close = Batch(kLedger, WriterName(3), "close");
  close.add_entries()->mutable_writer_closed()->set_entry_count(3);
  ASSERT_TRUE(store_->Append(close).ok());
  const auto names = [](const v1::Ledger& ledger) {
    EXPECT_EQ(ledger.writer_count(), 30u);
    EXPECT_EQ(ledger.open_writer_count(), 29u);
    std::vector<std::string> described;
    for (const v1::WriterStatus& writer : ledger.writers()) described.push_back(writer.writer());
    return described;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(*store_->Get(kLedger)).size(), 30u);
  EXPECT_EQ(names(*store_->Get(kLedger, kNoWriters)), Names());
  EXPECT_EQ(names(*store_->Get(kLedger, {.limit = 1})), Names{"w-000000"});
  EXPECT_EQ(names(*store_->Get(kLedger, {"w-000007", 2})), (Names{"w-000007", "w-000008"}));
  EXPECT_EQ(names(*store_->Get(kLedger, {"w-000007-", 1})), Names{"w-000008"});
  EXPECT_EQ(names(*store_->Get(kLedger, {"w-000029", 9})), Names{"w-000029"});
  EXPECT_EQ(names(*store_->Get(kLedger, {"x", 9})), Names());
  EXPECT_EQ(names(store_->List("projects/p", "", 1, {"w-000028", 1})->at(0)), Names{"w-000028"});
}

}  // namespace
}  // namespace dpledger
