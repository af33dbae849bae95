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

#include "tests/ledger_store/passing_store.h"

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

class TamperedStore : public PassingStore {
 public:
  TamperedStore(LedgerStore& store, const Tampering* tampering)
      : PassingStore(store), tampering_(*tampering) {}

  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) override {
    auto entries = PassingStore::Read(name, first, max_entries, max_bytes);
    if (entries.ok() && tampering_.entries) tampering_.entries(name, first, *entries);
    return entries;
  }
  absl::StatusOr<uint64_t> AcquireLease(const std::string& holder,
                                        absl::Duration duration) override {
    if (tampering_.lease) {
      if (absl::Status refused = tampering_.lease(); !refused.ok()) return refused;
    }
    return PassingStore::AcquireLease(holder, duration);
  }
  absl::StatusOr<UnsignedLedgers> Unsigned(const std::string& after, size_t limit) override {
    auto found = PassingStore::Unsigned(after, limit);
    if (found.ok() && tampering_.heads) tampering_.heads(found->ledgers);
    return found;
  }
  absl::Status Publish(const Publication& publication) override {
    if (tampering_.before_publish) {
      if (absl::Status refused = tampering_.before_publish(publication); !refused.ok()) {
        return refused;
      }
    }
    return PassingStore::Publish(publication);
  }
  absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) override {
    auto checkpoint = PassingStore::Latest(log);
    if (tampering_.checkpoint) tampering_.checkpoint(log, checkpoint);
    return checkpoint;
  }
  absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> LatestOfAll() override {
    auto all = PassingStore::LatestOfAll();
    if (all.ok() && tampering_.all_checkpoints) tampering_.all_checkpoints(*all);
    return all;
  }
  absl::StatusOr<std::string> ReadTile(const std::string& log,
                                       const merkle::TileId& tile) override {
    auto hashes = PassingStore::ReadTile(log, tile);
    if (hashes.ok() && tampering_.tile) tampering_.tile(log, tile, *hashes);
    return hashes;
  }
  absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                        size_t max_entries) override {
    auto entries = PassingStore::ReadRegistry(first, max_entries);
    if (entries.ok() && tampering_.registry) tampering_.registry(*entries);
    return entries;
  }

 private:
  const Tampering& tampering_;
};

}  // namespace dpledger
