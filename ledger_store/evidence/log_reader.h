// Reads a log as auditors ask for it: proofs from its tiles, and the tiles themselves.
//
// 1. No proof, tile or entry is handed out that does not verify against the signed checkpoint: what
//    is stored amiss is DATA_LOSS, never a wrong answer.
// 2. Nothing is handed out that the checkpoint does not cover.
// Thread safe as far as the store is. A log is a ledger, by its name, or kRegistryLog.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/evidence/registry.h"
#include "ledger_store/store.h"
#include "merkle/checkpoint.h"
#include "merkle/tile_tree.h"

namespace dpledger {

// The published tiles of a log. One that is missing is DATA_LOSS: only those are asked for that a
// checkpoint covers.
class LogTiles : public merkle::TileReader {
 public:
  // `store` must outlive this.
  LogTiles(CheckpointReader& store, std::string log) : store_(store), log_(std::move(log)) {}
  absl::StatusOr<std::string> ReadTile(const merkle::TileId& id, int width) override;

 private:
  CheckpointReader& store_;
  const std::string log_;
};

// Entries [first, ...) of a log: at most `max_entries`, and at least one if there is one. Errors of
// LedgerStore::Read.
absl::StatusOr<std::vector<std::string>> ReadLog(LedgerReader& store, const std::string& log,
                                                 uint64_t first, size_t max_entries);

struct LeafProof {
  merkle::Hash leaf_hash = {};
  std::vector<merkle::Hash> hashes;  // from the leaf's sibling up
};
struct PrefixProof {
  merkle::Hash old_root = {};
  merkle::Hash new_root = {};
  std::vector<merkle::Hash> hashes;
};

class LogReader {
 public:
  // A log as far as `checkpoint` goes, which is one that was signed of it. `store` must outlive
  // this.
  LogReader(LedgerReader& store, std::string log, SignedCheckpoint checkpoint);
  LogReader(const LogReader&) = delete;

  const SignedCheckpoint& signed_checkpoint() const { return signed_; }
  uint64_t size() const { return signed_.checkpoint.size; }

  // The root of the first `size` entries. OUT_OF_RANGE (`field` is named) if so many are not
  // signed; DATA_LOSS if the tiles do not lead to the signed root, here and below.
  absl::StatusOr<merkle::Hash> RootAt(std::string_view field, uint64_t size);
  // That entry `index` is in the tree of the first `size`. INVALID_ARGUMENT unless index < size.
  absl::StatusOr<LeafProof> ProveInclusion(uint64_t index, uint64_t size);
  // That the first `old_size` entries are the beginning of the first `new_size`. INVALID_ARGUMENT
  // unless old_size <= new_size.
  absl::StatusOr<PrefixProof> ProveConsistency(uint64_t old_size, uint64_t new_size);

  // What a C2SP tlog-tiles path below the log names: "checkpoint", "tile/0/x001/234",
  // "tile/entries/000.p/5". Tiles of level 0 and bundles of any width up to what the checkpoint
  // covers. INVALID_ARGUMENT for another spelling; NOT_FOUND for what it does not cover.
  absl::StatusOr<std::string> ReadPath(std::string_view path);

 private:
  // Verified.
  absl::StatusOr<std::vector<merkle::Hash>> ReadTile(const merkle::SizedTile& tile);
  absl::StatusOr<std::string> ReadBundle(const merkle::SizedTile& tile);
  absl::Status Damaged(std::string_view what) const;

  LedgerReader& store_;
  const std::string log_;
  const SignedCheckpoint signed_;
  LogTiles tiles_;
  merkle::NodeSource nodes_;
};

}  // namespace dpledger
