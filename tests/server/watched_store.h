// A real store, with what passes through it counted, and a switch that makes it say it is ill.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "tests/ledger_store/passing_store.h"

namespace dpledger::server {

// What a test sees of the store; outlives it.
class StoreWatch {
 public:
  // Waits until so many batches have been handed over.
  void AwaitHandedOver(uint64_t batches) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [&] { return handed_over_ >= batches; };
    mutex_.Await(absl::Condition(&enough));
  }
  // The most batches that were handed over and unanswered at a time.
  uint64_t greatest_waiting() {
    absl::MutexLock lock(&mutex_);
    return greatest_waiting_;
  }
  // Reads wait from here until ReleaseReads.
  void HoldReads() { SetReadsHeld(true); }
  void ReleaseReads() { SetReadsHeld(false); }
  // Waits until so many reads are held.
  void AwaitHeldReads(int reads) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [&] { return held_reads_ >= reads; };
    mutex_.Await(absl::Condition(&enough));
  }

  void Read() {
    absl::MutexLock lock(&mutex_);
    ++held_reads_;
    const auto released = [this] { return !reads_held_; };
    mutex_.Await(absl::Condition(&released));
    --held_reads_;
  }
  void HandOver() {
    absl::MutexLock lock(&mutex_);
    ++handed_over_;
    greatest_waiting_ = std::max(greatest_waiting_, ++waiting_);
  }
  void Answer() {
    absl::MutexLock lock(&mutex_);
    --waiting_;
  }

  // Every batch is refused with this, unless it is OK.
  void FailAppends(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    appends_ = std::move(status);
  }
  absl::Status appends() {
    absl::MutexLock lock(&mutex_);
    return appends_;
  }

  std::atomic<bool> ill = false, went_back = false;
  std::atomic<bool> lies = false;  // what is read of entries has a bit changed
  std::atomic<uint64_t> entries_read = 0;
  // Changes what is read of an entry; set while nothing reads.
  std::function<void(uint64_t sequence, std::string& entry)> change_entry;

 private:
  void SetReadsHeld(bool held) {
    absl::MutexLock lock(&mutex_);
    reads_held_ = held;
  }

  absl::Mutex mutex_;
  absl::Status appends_;
  bool reads_held_ = false;
  int held_reads_ = 0;
  uint64_t handed_over_ = 0;
  uint64_t waiting_ = 0;
  uint64_t greatest_waiting_ = 0;
};

class WatchedStore : public PassingStore {
 public:
  WatchedStore(std::unique_ptr<LedgerStore> store, StoreWatch* watch)
      : PassingStore(*store), store_(std::move(store)), watch_(watch) {}

  void AppendAsync(v1::AppendBatchRequest request, const std::string& caller,
                   std::shared_ptr<AppendLine> line, AppendCallback done) override {
    if (absl::Status refused = watch_->appends(); !refused.ok()) return done(std::move(refused));
    watch_->HandOver();
    store_->AppendAsync(
        std::move(request), caller, std::move(line),
        [watch = watch_, done = std::move(done)](absl::StatusOr<v1::Receipt> receipt) {
          watch->Answer();
          done(std::move(receipt));
        });
  }
  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) override {
    watch_->Read();
    auto entries = store_->Read(name, first, max_entries, max_bytes);
    if (entries.ok()) watch_->entries_read += entries->size();
    for (size_t i = 0; watch_->change_entry && entries.ok() && i < entries->size(); ++i) {
      watch_->change_entry(first + i, (*entries)[i]);
    }
    if (entries.ok() && watch_->lies && !entries->empty()) entries->back().back() ^= 1;
    return entries;
  }
  absl::Status Health() const override {
    if (watch_->went_back) {
      return WithReason(absl::UnavailableError("the database has gone back"),
                        {kDatabaseWentBack, {}});
    }
    return watch_->ill ? absl::UnavailableError("the disk reported an error") : store_->Health();
  }

 private:
  const std::unique_ptr<LedgerStore> store_;
  StoreWatch* const watch_;
};

}  // namespace dpledger::server
