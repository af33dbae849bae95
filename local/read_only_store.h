// What can be read, as the store that the services ask for: nothing is taken, and nobody signs.
// Thread safe as far as the reader is.
#pragma once

#include <string>
#include <vector>

#include "ledger_store/store.h"

namespace dpledger::local {

class ReadOnlyCheckpoints : public CheckpointStore {
 public:
  explicit ReadOnlyCheckpoints(CheckpointReader* of) : of_(*of) {}

  absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) override {
    return of_.Latest(log);
  }
  absl::StatusOr<std::string> ReadTile(const std::string& log,
                                       const merkle::TileId& tile) override {
    return of_.ReadTile(log, tile);
  }
  absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                        size_t max_entries) override {
    return of_.ReadRegistry(first, max_entries);
  }
  // SIGNER_ELSEWHERE: a notary takes over what is signed, and signs nothing.
  absl::StatusOr<uint64_t> AcquireLease(const std::string& holder,
                                        absl::Duration duration) override;
  absl::StatusOr<UnsignedLedgers> Unsigned(const std::string&, size_t) override {
    return UnsignedLedgers();
  }
  absl::Status Publish(const Publication& publication) override;

 private:
  CheckpointReader& of_;
};

class ReadOnlyStore : public LedgerStore {
 public:
  // `of` must outlive the store.
  explicit ReadOnlyStore(LedgerReader* of) : of_(*of), checkpoints_(&of->checkpoints()) {}

  absl::StatusOr<std::shared_ptr<const LedgerHead>> Head(const std::string& name) override {
    return of_.Head(name);
  }
  absl::StatusOr<LedgerHeads> Heads(const std::string& prefix, const std::string& after,
                                    size_t limit) override {
    return of_.Heads(prefix, after, limit);
  }
  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) override {
    return of_.Read(name, first, max_entries, max_bytes);
  }
  absl::StatusOr<v1::StoredHistory> GetHistory(const std::string& name) override {
    return of_.GetHistory(name);
  }
  CheckpointStore& checkpoints() override { return checkpoints_; }
  absl::StatusOr<uint64_t> CountDeclaring(const std::string& dataset) override;
  absl::StatusOr<ChangedLedgers> Changed(uint64_t, size_t, const KnownSizes&) override {
    return ChangedLedgers();
  }
  absl::StatusOr<uint64_t> ChangesEnd() override { return 0; }
  absl::Status Health() const override { return absl::OkStatus(); }

  // FAILED_PRECONDITION (READ_ONLY).
  absl::StatusOr<v1::Ledger> Create(const v1::CreateLedgerRequest&, const std::string&) override;
  void AppendAsync(v1::AppendBatchRequest, const std::string&, std::shared_ptr<AppendLine>,
                   AppendCallback done) override;
  absl::StatusOr<v1::Ledger> Seal(const v1::SealLedgerRequest&, const std::string&) override;
  absl::StatusOr<v1::Ledger> Fork(const v1::ForkLedgerRequest&, const LedgerPoint&,
                                  const std::string&) override;
  absl::StatusOr<v1::Receipt> Grant(const GrantAtSize&, const std::string&) override;
  absl::Status PutHistory(const std::string&, const v1::StoredHistory&) override;

 private:
  LedgerReader& of_;
  ReadOnlyCheckpoints checkpoints_;
};

}  // namespace dpledger::local
