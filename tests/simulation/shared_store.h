// A store that several notaries sign, as the server's PostgreSQL store is: one lease to sign, kept
// by a clock that jumps. And the places at which others get their turn in the middle of a round.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "ledger_store/store.h"

namespace dpledger::simulation {

class SimulatedClock : public Clock {
 public:
  absl::Time Now() override { return now_; }
  void Move(absl::Duration by) { now_ += by; }

 private:
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'040);
};

// As a row of a database: it outlives the processes.
struct Lease {
  std::string holder;
  uint64_t epoch = 1;
  absl::Time expires = absl::InfinitePast();
};

class SharedStore : public LedgerStore, public CheckpointStore {
 public:
  struct Options {
    bool fenced = true;             // false: whoever signs is believed to be the only one
    std::function<void()> between;  // called before each call of a signer
  };
  // All arguments must outlive this.
  SharedStore(LedgerStore& store, Lease& lease, Clock& clock, Options options)
      : store_(store), lease_(lease), clock_(clock), options_(std::move(options)) {}

  absl::StatusOr<std::shared_ptr<const LedgerHead>> Head(const std::string& name) override {
    return store_.Head(name);
  }
  absl::StatusOr<LedgerHeads> Heads(const std::string& prefix, const std::string& after,
                                    size_t limit) override {
    return store_.Heads(prefix, after, limit);
  }
  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) override {
    options_.between();
    return store_.Read(name, first, max_entries, max_bytes);
  }
  absl::StatusOr<v1::StoredHistory> GetHistory(const std::string& name) override {
    return store_.GetHistory(name);
  }
  absl::StatusOr<v1::Ledger> Create(const v1::CreateLedgerRequest& request,
                                    const std::string& caller) override {
    return store_.Create(request, caller);
  }
  absl::StatusOr<uint64_t> CountDeclaring(const std::string& dataset) override {
    return store_.CountDeclaring(dataset);
  }
  void AppendAsync(v1::AppendBatchRequest request, const std::string& caller,
                   std::shared_ptr<AppendLine> line, AppendCallback done) override {
    store_.AppendAsync(std::move(request), caller, std::move(line), std::move(done));
  }
  absl::StatusOr<v1::Ledger> Seal(const v1::SealLedgerRequest& request,
                                  const std::string& caller) override {
    return store_.Seal(request, caller);
  }
  absl::StatusOr<v1::Ledger> Fork(const v1::ForkLedgerRequest& request, const LedgerPoint& point,
                                  const std::string& caller) override {
    return store_.Fork(request, point, caller);
  }
  CheckpointStore& checkpoints() override { return *this; }
  absl::Status PutHistory(const std::string& name, const v1::StoredHistory& history) override {
    return store_.PutHistory(name, history);
  }
  absl::Status Health() const override { return store_.Health(); }

  absl::StatusOr<uint64_t> AcquireLease(const std::string& holder,
                                        absl::Duration duration) override;
  absl::StatusOr<UnsignedLedgers> Unsigned(const std::string& after, size_t limit) override {
    options_.between();
    return store_.checkpoints().Unsigned(after, limit);
  }
  absl::Status Publish(const Publication& publication) override;
  absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) override {
    return store_.checkpoints().Latest(log);
  }
  absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> LatestOfAll() override {
    return store_.checkpoints().LatestOfAll();
  }
  absl::StatusOr<std::string> ReadTile(const std::string& log,
                                       const merkle::TileId& tile) override {
    return store_.checkpoints().ReadTile(log, tile);
  }
  absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                        size_t max_entries) override {
    return store_.checkpoints().ReadRegistry(first, max_entries);
  }

 private:
  LedgerStore& store_;
  Lease& lease_;
  Clock& clock_;
  const Options options_;
};

}  // namespace dpledger::simulation
