// After an error of the disk the store acknowledges nothing more, and what it had acknowledged is
// there afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "ledger_store/embedded/embedded_store.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger {
namespace {

using absl::StatusCode;

// The system's files; the test says what a sync of the store's log does.
class LogControl : public rocksdb::FileSystemWrapper {
 public:
  enum class Sync { kReal, kFails, kWaits };

  LogControl() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "LogControl"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus made = target()->NewWritableFile(path, options, file, debug);
    if (made.ok() && absl::EndsWith(path, ".log")) {
      *file = std::make_unique<LogFile>(std::move(*file), *this);
    }
    return made;
  }

  void Set(Sync sync) {
    absl::MutexLock lock(&mutex_);
    sync_ = sync;
  }
  void AwaitWaitingSync() {
    const auto waiting = [this] { return waiting_; };
    absl::MutexLock lock(&mutex_, absl::Condition(&waiting));
  }

 private:
  class LogFile : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    LogFile(std::unique_ptr<rocksdb::FSWritableFile> file, LogControl& control)
        : FSWritableFileOwnerWrapper(std::move(file)), control_(control) {}
    rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
      if (control_.Fails()) return rocksdb::IOStatus::IOError("fdatasync", "Input/output error");
      return FSWritableFileOwnerWrapper::Sync(options, debug);
    }

   private:
    LogControl& control_;
  };

  bool Fails() {
    absl::MutexLock lock(&mutex_);
    waiting_ = sync_ == Sync::kWaits;
    const auto released = [this] { return sync_ != Sync::kWaits; };
    mutex_.Await(absl::Condition(&released));
    waiting_ = false;
    return sync_ == Sync::kFails;
  }

  absl::Mutex mutex_;
  Sync sync_ = Sync::kReal;
  bool waiting_ = false;
};

// No file may grow beyond `bytes` while this lives: the kernel itself refuses the write, as on a
// full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    ::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*const old_handler_)(int);
};

class FailingDisk : public ::testing::Test {
 protected:
  std::unique_ptr<LedgerStore> Open(rocksdb::Env* env = nullptr) {
    EmbeddedOptions options;
    options.folder = folder_.path();
    options.clock = &clock_;
    options.env = env;
    auto store = OpenEmbeddedStore(options);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }

  static ::testing::AssertionResult HasStopped(const absl::Status& status) {
    return IsError(
        status, StatusCode::kUnavailable, "STORE_FAILED",
        "the store has stopped after an error of the disk and acknowledges nothing more");
  }

  static void ExpectEverythingRefused(LedgerStore& store) {
    EXPECT_FALSE(store.Healthy());
    EXPECT_TRUE(HasStopped(store.Append(RoundBatch(kLedger, "z", "late", 1)).status()));
    EXPECT_TRUE(HasStopped(store.Create(CreateRequest("projects/p/ledgers/late")).status()));
    EXPECT_TRUE(HasStopped(store.Seal(SealRequest(kLedger)).status()));
    EXPECT_TRUE(HasStopped(store.Get(kLedger).status()));
    EXPECT_TRUE(HasStopped(store.List("projects/p", "", 1).status()));
    EXPECT_TRUE(HasStopped(store.Read(kLedger, 0, 1, 1).status()));
    EXPECT_TRUE(HasStopped(store.PutHistory(kLedger, {})));
    EXPECT_TRUE(HasStopped(store.GetHistory(kLedger).status()));
    CheckpointStore& checkpoints = store.checkpoints();
    EXPECT_TRUE(HasStopped(checkpoints.AcquireLease("signer", absl::Hours(1)).status()));
    EXPECT_TRUE(HasStopped(checkpoints.Publish({})));
    EXPECT_TRUE(HasStopped(checkpoints.Unsigned("", 1).status()));
    EXPECT_TRUE(HasStopped(checkpoints.Latest(kLedger).status()));
    EXPECT_TRUE(HasStopped(checkpoints.ReadTile(kLedger, {0, 0}).status()));
    EXPECT_TRUE(HasStopped(checkpoints.ReadRegistry(0, 1).status()));
  }

  TempFolder folder_;
  TestClock clock_;
};

TEST_F(FailingDisk, FailedSyncStopsTheStoreForGood) {
  LogControl* const log = new LogControl;
  const std::unique_ptr<rocksdb::Env> env =
      rocksdb::NewCompositeEnv(std::shared_ptr<rocksdb::FileSystem>(log));
  {
    const auto store = Open(env.get());
    ASSERT_TRUE(store->Create(CreateRequest(kLedger)).ok());
    // The control: the same files sync as long as they may.
    ASSERT_TRUE(store->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());

    // One group of two while the first request, which writes nothing, is held. The second of them
    // is refused by what the first would have stored: that refusal is as void.
    log->Set(LogControl::Sync::kFails);
    const std::vector<v1::AppendBatchRequest> requests = {
        RoundBatch("projects/p/ledgers/none", "w", "r", 1), RoundBatch(kLedger, "w", "r2", 2),
        RoundBatch(kLedger, "w", "r3", 2)};
    std::vector<absl::Status> answers(requests.size());
    absl::BlockingCounter open(static_cast<int>(requests.size()));
    clock_.Hold();
    for (size_t i = 0; i < requests.size(); ++i) {
      store->AppendAsync(requests[i], [&, i](const absl::StatusOr<v1::Receipt>& answer) {
        answers[i] = answer.status();
        open.DecrementCount();
      });
      if (i == 0) clock_.AwaitAsked();
    }
    clock_.Release();
    open.Wait();
    EXPECT_EQ(answers[0].code(), StatusCode::kNotFound);
    EXPECT_TRUE(HasStopped(answers[1]));
    EXPECT_TRUE(HasStopped(answers[2]));
    EXPECT_TRUE(absl::StrContains(answers[1].message(), "Input/output error")) << answers[1];

    log->Set(LogControl::Sync::kReal);  // a second sync that "succeeds" changes nothing
    ExpectEverythingRefused(*store);
  }
  const auto store = Open();
  EXPECT_GE(store->Get(kLedger)->size(), 3u);
  const auto again = store->Append(RoundBatch(kLedger, "w", "r1", 1));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->first_sequence(), 1u);
}

TEST_F(FailingDisk, FailedSyncOfAPublicationStopsTheStoreForGood) {
  LogControl* const log = new LogControl;
  const std::unique_ptr<rocksdb::Env> env =
      rocksdb::NewCompositeEnv(std::shared_ptr<rocksdb::FileSystem>(log));
  {
    const auto store = Open(env.get());
    ASSERT_TRUE(store->Create(CreateRequest(kLedger)).ok());
    Publication publication;
    publication.registry_entries = {"a"};
    ASSERT_TRUE(store->checkpoints().Publish(publication).ok());  // the control
    log->Set(LogControl::Sync::kFails);
    publication.registry_size = 1;
    EXPECT_TRUE(HasStopped(store->checkpoints().Publish(publication)));
    log->Set(LogControl::Sync::kReal);
    ExpectEverythingRefused(*store);
  }
  EXPECT_GE(Open()->checkpoints().ReadRegistry(0, 9)->size(), 1u);
}

TEST_F(FailingDisk, NobodySeesWhatIsNotYetDurable) {
  LogControl* const log = new LogControl;
  const std::unique_ptr<rocksdb::Env> env =
      rocksdb::NewCompositeEnv(std::shared_ptr<rocksdb::FileSystem>(log));
  const auto store = Open(env.get());
  ASSERT_TRUE(store->Create(CreateRequest(kLedger)).ok());

  log->Set(LogControl::Sync::kWaits);
  absl::Notification answered;
  store->AppendAsync(RoundBatch(kLedger, "w", "r1", 1),
                     [&](const absl::StatusOr<v1::Receipt>& answer) {
                       EXPECT_TRUE(answer.ok()) << answer.status();
                       answered.Notify();
                     });
  log->AwaitWaitingSync();
  EXPECT_EQ(store->Get(kLedger)->size(), 1u);
  EXPECT_EQ(store->Read(kLedger, 0, 9, 1 << 20)->size(), 1u);
  EXPECT_FALSE(answered.HasBeenNotified());

  log->Set(LogControl::Sync::kReal);
  answered.WaitForNotification();
  EXPECT_EQ(store->Get(kLedger)->size(), 3u);
  EXPECT_EQ(store->Read(kLedger, 0, 9, 1 << 20)->size(), 3u);
}

TEST_F(FailingDisk, FullDiskStopsTheStoreForGood) {
  uint64_t acknowledged = 0;
  const auto big_batch = [](uint64_t i) {
    v1::AppendBatchRequest request = Batch(kLedger, "w", absl::StrCat("n", i));
    for (int k = 0; k < 4; ++k) AddNote(request, std::string(4000, 'x'));
    return request;
  };
  {
    const auto store = Open();
    ASSERT_TRUE(store->Create(CreateRequest(kLedger)).ok());
    {
      const FileSizeLimit limit(200'000);
      while (acknowledged < 100 && store->Append(big_batch(acknowledged)).ok()) ++acknowledged;
      EXPECT_FALSE(store->Healthy());
    }
    EXPECT_GT(acknowledged, 5u);
    EXPECT_LT(acknowledged, 13u);
    ExpectEverythingRefused(*store);  // though the disk has room again
  }
  const auto store = Open();
  EXPECT_EQ(store->Get(kLedger)->size(), 1 + 4 * acknowledged);
  // The control: without the limit the store takes more than that.
  for (uint64_t i = acknowledged; i < 20; ++i) ASSERT_TRUE(store->Append(big_batch(i)).ok());
}

// RocksDB's assertions once ended the process there: its own log was the first file that the disk
// could not take.
TEST_F(FailingDisk, StartOnAFullDiskIsAnErrorAndThenWellAgain) {
  {
    const auto store = Open();
    ASSERT_TRUE(store->Create(CreateRequest(kLedger)).ok());
    ASSERT_TRUE(store->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  }
  for (const rlim_t bytes : {0, 20, 100, 400, 2000}) {
    const FileSizeLimit limit(bytes);
    const auto store = OpenEmbeddedStore({.folder = folder_.path(), .clock = &clock_});
    if (store.ok()) continue;
    EXPECT_EQ(store.status().code(), StatusCode::kUnavailable) << store.status();
    EXPECT_THAT(std::string(store.status().message()), ::testing::HasSubstr("File too large"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/LOG"));
  EXPECT_EQ(Open()->Get(kLedger)->size(), 3u);
}

}  // namespace
}  // namespace dpledger
