// What a store does where there is no memory for a batch: it refuses the batch, stores nothing of
// it, and goes on.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ledger_store/embedded/embedded_store.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"
#include "tests/support/refusing_new.h"

namespace {

// Allocations of a batch's size: RocksDB makes none of them before it writes the log.
constexpr size_t kLarge = size_t{2} << 20;
// How many of them are granted, of all threads together, before one is refused.
std::atomic<int64_t> granted = INT64_MAX;

}  // namespace

bool RefusesAllocation(size_t size) { return size >= kLarge && granted.fetch_sub(1) == 0; }

namespace dpledger {
namespace {

// The system's files. Once the log is written, memory is there again: RocksDB cannot do without in
// the middle of a write.
class Files : public rocksdb::FileSystemWrapper {
 public:
  Files() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "Files"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus made = target()->NewWritableFile(path, options, file, debug);
    if (made.ok() && absl::EndsWith(path, ".log")) *file = std::make_unique<Log>(std::move(*file));
    return made;
  }

 private:
  class Log : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    using FSWritableFileOwnerWrapper::Append;
    using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override {
      granted = INT64_MAX;
      return FSWritableFileOwnerWrapper::Append(data, options, debug);
    }
  };
};

TEST(StoreMemory, BatchWithoutMemoryIsRefusedAndLeavesNothing) {
  const TempFolder folder;
  TestClock clock;
  Files* const files = new Files;
  const std::unique_ptr<rocksdb::Env> env =
      rocksdb::NewCompositeEnv(std::shared_ptr<rocksdb::FileSystem>(files));
  EmbeddedOptions options;
  options.folder = folder.path();
  options.clock = &clock;
  options.env = env.get();
  auto store = *OpenEmbeddedStore(options);
  ASSERT_TRUE(store->Create(CreateRequest(kLedger)).ok());

  uint64_t size = 1;
  // In a minute that was not guessed the commit thread makes the batch, else its caller does.
  for (const bool guessed : {true, false}) {
    ASSERT_TRUE(store->Append(RoundBatch(kLedger, "w", guessed ? "r1" : "r2", size)).ok());
    size += 2;
    v1::AppendBatchRequest large = Batch(kLedger, "w", guessed ? "large-1" : "large-2");
    for (int i = 0; i < 2000; ++i) AddNote(large, std::string(4096, 'x'));
    int refusals = 0;
    while (true) {
      if (!guessed) clock.Set(clock.Now() + absl::Minutes(1));
      v1::AppendBatchRequest request = large;
      granted = refusals;
      const absl::StatusOr<v1::Receipt> receipt = store->Append(std::move(request));
      granted = INT64_MAX;
      if (receipt.ok()) break;
      ASSERT_TRUE(IsError(receipt.status(), absl::StatusCode::kResourceExhausted, "OUT_OF_MEMORY",
                          "out of memory"));
      ++refusals;
      ASSERT_TRUE(store->Healthy());
      ASSERT_EQ(store->Get(kLedger)->size(), size);
      // Another batch finds the ledger as it was.
      ASSERT_TRUE(store->Append(RoundBatch(kLedger, "w", absl::StrCat("s", size), size)).ok());
      size += 2;
    }
    EXPECT_GE(refusals, 3);
    size += 2000;
    EXPECT_EQ(store->Get(kLedger)->size(), size);
  }
  const std::string root = store->Get(kLedger)->root_hash();
  store.reset();
  store = *OpenEmbeddedStore(options);
  EXPECT_EQ(store->Get(kLedger)->size(), size);
  EXPECT_EQ(store->Get(kLedger)->root_hash(), root);
}

}  // namespace
}  // namespace dpledger
