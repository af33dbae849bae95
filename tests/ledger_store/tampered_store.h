// A store of which a test changes what is read, as a disk would that lies, and sees what a notary
// asks for. Without hooks it is the store below.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ledger_store/store.h"

namespace dpledger {

struct Tampering {
  // Called on what is read, before it is handed out.
  std::function<void(const std::string& ledger, uint64_t first, std::vector<std::string>&)> entries;
  std::function<void(const std::string& log, const merkle::TileId&, std::string&)> tile;
  std::function<void(const std::string& log, absl::StatusOr<v1::StoredCheckpoint>&)> checkpoint;
  std::function<void(std::map<std::string, v1::StoredCheckpoint>&)> all_checkpoints;
  std::function<void(std::vector<std::string>&)> registry;
  std::function<void(std::vector<v1::Ledger>&)> heads;  // of Unsigned
  std::function<absl::Status()> lease;
  std::function<absl::Status(const Publication&)> before_publish;
};

class TamperedStore : public LedgerStore, public CheckpointStore {
 public:
  TamperedStore(LedgerStore& store, const Tampering* tampering)
      : store_(store), tampering_(*tampering) {}

  void AppendAsync(v1::AppendBatchRequest request, const std::string& caller,
                   std::shared_ptr<AppendLine> line, AppendCallback done) override {
    store_.AppendAsync(std::move(request), caller, std::move(line), std::move(done));
  }
  absl::StatusOr<v1::Ledger> Create(const v1::CreateLedgerRequest& request,
                                    const std::string& caller) override {
    return store_.Create(request, caller);
  }
  absl::StatusOr<std::shared_ptr<const LedgerHead>> Head(const std::string& name) override {
    return store_.Head(name);
  }
  absl::StatusOr<LedgerHeads> Heads(const std::string& prefix, const std::string& after,
                                    size_t limit) override {
    return store_.Heads(prefix, after, limit);
  }
  absl::StatusOr<uint64_t> CountDeclaring(const std::string& dataset) override {
    return store_.CountDeclaring(dataset);
  }
  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) override {
    auto entries = store_.Read(name, first, max_entries, max_bytes);
    if (entries.ok() && tampering_.entries) tampering_.entries(name, first, *entries);
    return entries;
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
  absl::StatusOr<v1::StoredHistory> GetHistory(const std::string& name) override {
    return store_.GetHistory(name);
  }
  absl::Status Health() const override { return store_.Health(); }

  absl::StatusOr<uint64_t> AcquireLease(const std::string& holder,
                                        absl::Duration duration) override {
    if (tampering_.lease) {
      if (absl::Status refused = tampering_.lease(); !refused.ok()) return refused;
    }
    return store_.checkpoints().AcquireLease(holder, duration);
  }
  absl::Status ReleaseLease(const std::string& holder) override {
    return store_.checkpoints().ReleaseLease(holder);
  }
  absl::StatusOr<UnsignedLedgers> Unsigned(const std::string& after, size_t limit) override {
    auto found = store_.checkpoints().Unsigned(after, limit);
    if (found.ok() && tampering_.heads) tampering_.heads(found->ledgers);
    return found;
  }
  absl::Status Publish(const Publication& publication) override {
    if (tampering_.before_publish) {
      if (absl::Status refused = tampering_.before_publish(publication); !refused.ok()) {
        return refused;
      }
    }
    return store_.checkpoints().Publish(publication);
  }
  absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) override {
    auto checkpoint = store_.checkpoints().Latest(log);
    if (tampering_.checkpoint) tampering_.checkpoint(log, checkpoint);
    return checkpoint;
  }
  absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> LatestOfAll() override {
    auto all = store_.checkpoints().LatestOfAll();
    if (all.ok() && tampering_.all_checkpoints) tampering_.all_checkpoints(*all);
    return all;
  }
  absl::StatusOr<std::string> ReadTile(const std::string& log,
                                       const merkle::TileId& tile) override {
    auto hashes = store_.checkpoints().ReadTile(log, tile);
    if (hashes.ok() && tampering_.tile) tampering_.tile(log, tile, *hashes);
    return hashes;
  }
  absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                        size_t max_entries) override {
    auto entries = store_.checkpoints().ReadRegistry(first, max_entries);
    if (entries.ok() && tampering_.registry) tampering_.registry(*entries);
    return entries;
  }

 private:
  LedgerStore& store_;
  const Tampering& tampering_;
};

}  // namespace dpledger
