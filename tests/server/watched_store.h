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
#include "ledger_store/store.h"

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

  std::atomic<bool> ill = false;
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

class WatchedStore : public LedgerStore {
 public:
  WatchedStore(std::unique_ptr<LedgerStore> store, StoreWatch* watch)
      : store_(std::move(store)), watch_(watch) {}

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
  absl::StatusOr<v1::Ledger> Create(const v1::CreateLedgerRequest& request,
                                    const std::string& caller) override {
    return store_->Create(request, caller);
  }
  absl::StatusOr<std::shared_ptr<const LedgerHead>> Head(const std::string& name) override {
    return store_->Head(name);
  }
  absl::StatusOr<LedgerHeads> Heads(const std::string& prefix, const std::string& after,
                                    size_t limit) override {
    return store_->Heads(prefix, after, limit);
  }
  absl::StatusOr<uint64_t> CountDeclaring(const std::string& dataset) override {
    return store_->CountDeclaring(dataset);
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
  absl::StatusOr<v1::Ledger> Seal(const v1::SealLedgerRequest& request,
                                  const std::string& caller) override {
    return store_->Seal(request, caller);
  }
  absl::StatusOr<v1::Ledger> Fork(const v1::ForkLedgerRequest& request, const LedgerPoint& point,
                                  const std::string& caller) override {
    return store_->Fork(request, point, caller);
  }
  absl::StatusOr<v1::Receipt> Grant(const GrantAtSize& grant, const std::string& caller) override {
    return store_->Grant(grant, caller);
  }
  CheckpointStore& checkpoints() override { return store_->checkpoints(); }
  absl::Status PutHistory(const std::string& name, const v1::StoredHistory& history) override {
    return store_->PutHistory(name, history);
  }
  absl::StatusOr<v1::StoredHistory> GetHistory(const std::string& name) override {
    return store_->GetHistory(name);
  }
  absl::Status PutSummaries(const std::vector<SummaryRow>& rows) override {
    return store_->PutSummaries(rows);
  }
  absl::StatusOr<std::vector<SummaryRow>> ReadSummaries(
      const std::vector<std::string>& ledgers) override {
    return store_->ReadSummaries(ledgers);
  }
  absl::StatusOr<ChangedLedgers> Changed(uint64_t since, size_t limit,
                                         const KnownSizes& known) override {
    return store_->Changed(since, limit, known);
  }
  absl::StatusOr<uint64_t> ChangesEnd() override { return store_->ChangesEnd(); }
  void Observe(StoreObserver* observer) override { store_->Observe(observer); }
  void Guard(AppendGate* gate) override { store_->Guard(gate); }
  absl::Status Health() const override {
    return watch_->ill ? absl::UnavailableError("the disk reported an error") : store_->Health();
  }

 private:
  const std::unique_ptr<LedgerStore> store_;
  StoreWatch* const watch_;
};

}  // namespace dpledger::server
