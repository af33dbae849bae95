// Passes every call on to the store below: what stands between a store and whoever uses it changes
// the calls that it is about.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ledger_store/store.h"

namespace dpledger {

class PassingStore : public LedgerStore, public CheckpointStore {
 public:
  // `store` must outlive this.
  explicit PassingStore(LedgerStore& store) : below_(store) {}

  absl::StatusOr<std::shared_ptr<const LedgerHead>> Head(const std::string& name) override {
    return below_.Head(name);
  }
  absl::StatusOr<LedgerHeads> Heads(const std::string& prefix, const std::string& after,
                                    size_t limit) override {
    return below_.Heads(prefix, after, limit);
  }
  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) override {
    return below_.Read(name, first, max_entries, max_bytes);
  }
  absl::StatusOr<v1::StoredHistory> GetHistory(const std::string& name) override {
    return below_.GetHistory(name);
  }
  absl::StatusOr<v1::Ledger> Create(const v1::CreateLedgerRequest& request,
                                    const std::string& caller) override {
    return below_.Create(request, caller);
  }
  absl::StatusOr<uint64_t> CountDeclaring(const std::string& dataset) override {
    return below_.CountDeclaring(dataset);
  }
  void AppendAsync(v1::AppendBatchRequest request, const std::string& caller,
                   std::shared_ptr<AppendLine> line, AppendCallback done) override {
    below_.AppendAsync(std::move(request), caller, std::move(line), std::move(done));
  }
  absl::StatusOr<v1::Ledger> Seal(const v1::SealLedgerRequest& request,
                                  const std::string& caller) override {
    return below_.Seal(request, caller);
  }
  absl::StatusOr<v1::Ledger> Fork(const v1::ForkLedgerRequest& request, const LedgerPoint& point,
                                  const std::string& caller) override {
    return below_.Fork(request, point, caller);
  }
  absl::StatusOr<v1::Receipt> Grant(const GrantAtSize& grant, const std::string& caller) override {
    return below_.Grant(grant, caller);
  }
  absl::Status PutHistory(const std::string& name, const v1::StoredHistory& history) override {
    return below_.PutHistory(name, history);
  }
  absl::Status PutSummaries(const std::vector<SummaryRow>& rows) override {
    return below_.PutSummaries(rows);
  }
  absl::StatusOr<std::vector<SummaryRow>> ReadSummaries(
      const std::vector<std::string>& ledgers) override {
    return below_.ReadSummaries(ledgers);
  }
  absl::StatusOr<ChangedLedgers> Changed(uint64_t since, size_t limit,
                                         const KnownSizes& known) override {
    return below_.Changed(since, limit, known);
  }
  absl::StatusOr<uint64_t> ChangesEnd() override { return below_.ChangesEnd(); }
  absl::Status Health() const override { return below_.Health(); }
  void Observe(StoreObserver* observer) override { below_.Observe(observer); }
  void Guard(AppendGate* gate) override { below_.Guard(gate); }

  CheckpointStore& checkpoints() override { return *this; }
  absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) override {
    return below_.checkpoints().Latest(log);
  }
  absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> LatestOfAll() override {
    return below_.checkpoints().LatestOfAll();
  }
  absl::StatusOr<std::string> ReadTile(const std::string& log,
                                       const merkle::TileId& tile) override {
    return below_.checkpoints().ReadTile(log, tile);
  }
  absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                        size_t max_entries) override {
    return below_.checkpoints().ReadRegistry(first, max_entries);
  }
  absl::StatusOr<uint64_t> AcquireLease(const std::string& holder,
                                        absl::Duration duration) override {
    return below_.checkpoints().AcquireLease(holder, duration);
  }
  absl::Status ReleaseLease(const std::string& holder) override {
    return below_.checkpoints().ReleaseLease(holder);
  }
  absl::StatusOr<UnsignedLedgers> Unsigned(const std::string& after, size_t limit) override {
    return below_.checkpoints().Unsigned(after, limit);
  }
  absl::Status Want(const std::vector<std::string>& ledgers) override {
    return below_.checkpoints().Want(ledgers);
  }
  absl::StatusOr<std::vector<std::string>> TakeWanted() override {
    return below_.checkpoints().TakeWanted();
  }
  absl::Status Publish(const Publication& publication) override {
    return below_.checkpoints().Publish(publication);
  }

 private:
  LedgerStore& below_;
};

}  // namespace dpledger
