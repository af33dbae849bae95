// What the PostgreSQL engine does where there is no memory for a batch: it refuses the batch,
// stores nothing of it, keeps its connections, and goes on.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"
#include "tests/support/refusing_new.h"

namespace {

// Allocations of a batch's size.
constexpr size_t kLarge = size_t{2} << 20;
// How many of them are granted, of all threads together, before `refused` are not.
std::atomic<int64_t> granted = INT64_MAX;
std::atomic<int64_t> refused = 0;

}  // namespace

bool RefusesAllocation(size_t size) {
  return size >= kLarge && granted.fetch_sub(1) <= 0 && refused.fetch_sub(1) > 0;
}

namespace dpledger {
namespace {

v1::AppendBatchRequest LargeBatch(const std::string& id) {
  v1::AppendBatchRequest large = Batch(kLedger, "w", id);
  for (int i = 0; i < 2000; ++i) AddNote(large, std::string(4096, 'x'));
  return large;
}

TEST(PostgresMemory, BatchWithoutMemoryIsRefusedAndLeavesNothing) {
  const PostgresServer server;
  TestClock clock;
  PostgresOptions options;
  options.connection = server.Connection();
  options.connections = 2;  // so that one that is lost is missed
  options.clock = &clock;
  auto store = *OpenPostgresStore(options);
  ASSERT_TRUE(store->Create(CreateRequest(kLedger)).ok());
  uint64_t size = 1;
  int refusals = 0;
  while (true) {
    const auto line = std::make_shared<AppendLine>();
    absl::StatusOr<v1::Receipt> first, second;
    absl::BlockingCounter open(2);
    v1::AppendBatchRequest request = LargeBatch("large");
    v1::AppendBatchRequest next = Batch(kLedger, "w", "next");
    AddNote(next, "after the large one");
    refused = 1;
    granted = refusals;
    store->AppendAsync(std::move(request), line, [&](absl::StatusOr<v1::Receipt> receipt) {
      first = std::move(receipt);
      open.DecrementCount();
    });
    store->AppendAsync(std::move(next), line, [&](absl::StatusOr<v1::Receipt> receipt) {
      second = std::move(receipt);
      open.DecrementCount();
    });
    open.Wait();
    granted = INT64_MAX;
    if (first.ok()) {
      EXPECT_TRUE(second.ok()) << second.status();
      break;
    }
    ASSERT_TRUE(IsError(first.status(), absl::StatusCode::kResourceExhausted, "OUT_OF_MEMORY",
                        "out of memory"));
    ASSERT_TRUE(IsError(second.status(), absl::StatusCode::kAborted, "EARLIER_BATCH_REFUSED", ""));
    ++refusals;
    ASSERT_LT(refusals, 100);
    ASSERT_TRUE(store->Healthy());
    ASSERT_EQ(store->Get(kLedger)->size(), size);
    // Another batch finds the ledger as it was.
    ASSERT_TRUE(store->Append(RoundBatch(kLedger, "w", absl::StrCat("s", size), size)).ok());
    size += 2;
  }
  EXPECT_GE(refusals, 3);
  size += 2001;
  EXPECT_EQ(store->Get(kLedger)->size(), size);
  const std::string root = store->Get(kLedger)->root_hash();
  store.reset();
  store = *OpenPostgresStore(options);
  EXPECT_EQ(store->Get(kLedger)->size(), size);
  EXPECT_EQ(store->Get(kLedger)->root_hash(), root);
}

}  // namespace
}  // namespace dpledger
