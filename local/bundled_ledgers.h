// The ledgers in bundles, as a store is read. A bundle is verified as it is opened, against the
// keys that it holds itself, and then kept in memory: about its own size.
//
//  1. What is returned was verified: every entry is under the root of the bundle's checkpoint.
//  2. There is no registry: what a bundle proves of it, `dpledger ledger verify` shows.
// Thread safe once it is open.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger/ledger_head.h"
#include "ledger_store/store.h"
#include "merkle/tile.h"
#include "server/signing/signed_logs.h"

namespace dpledger::local {

class BundledLedgers : public LedgerReader, public CheckpointReader, public server::SignedLogs {
 public:
  // Differences of bundle::Verifier, naming the file; INVALID_ARGUMENT (path) if two bundles hold
  // ledgers of one name; errors of errno.
  static absl::StatusOr<std::unique_ptr<BundledLedgers>> Open(
      const std::vector<std::string>& paths);

  absl::StatusOr<std::shared_ptr<const LedgerHead>> Head(const std::string& name) override;
  absl::StatusOr<LedgerHeads> Heads(const std::string& prefix, const std::string& after,
                                    size_t limit) override;
  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) override;
  absl::StatusOr<v1::StoredHistory> GetHistory(const std::string& name) override;
  CheckpointReader& checkpoints() override { return *this; }

  absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) override;
  absl::StatusOr<std::string> ReadTile(const std::string& log, const merkle::TileId& tile) override;
  absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                        size_t max_entries) override;

  absl::StatusOr<SignedCheckpoint> AwaitSigned(const std::string& log, uint64_t size,
                                               const server::CallContext& call) override;
  // Nothing: what a bundle holds was compared when it was opened.
  absl::StatusOr<std::optional<SignedCheckpoint>> LatestSigned(const std::string&) override {
    return std::nullopt;
  }

 private:
  struct Ledger {
    std::string path;
    std::shared_ptr<const LedgerHead> head;
    std::vector<std::string> entries;
    std::map<merkle::TileId, std::string> tiles;
    SignedCheckpoint checkpoint;
  };

  static absl::StatusOr<Ledger> ReadBundle(const std::string& path);
  // NOT_FOUND.
  absl::StatusOr<const Ledger*> Find(const std::string& name) const;

  std::map<std::string, Ledger> ledgers_;  // by name
};

}  // namespace dpledger::local
