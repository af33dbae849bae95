// Reads what auditors ask of a log: proofs, made from its tiles, and the tiles themselves.
//
// 1. Every returned proof, tile and entry was verified against the signed checkpoint. Wrong stored
//    data gives DATA_LOSS, never a wrong answer.
// 2. Nothing beyond the checkpoint is returned.
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

// Entries [first, ...) of a log: at most `max_entries`, at least one if there is one. Errors of
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
  // Reads the log up to `checkpoint`, one of its signed checkpoints. `store` must outlive this.
  LogReader(LedgerReader& store, std::string log, SignedCheckpoint checkpoint);
  LogReader(const LogReader&) = delete;

  const SignedCheckpoint& signed_checkpoint() const { return signed_; }
  uint64_t size() const { return signed_.checkpoint.size; }

  // The root of the first `size` entries. OUT_OF_RANGE, naming `field`, if fewer entries are
  // signed; DATA_LOSS if the tiles do not lead to the signed root; here and below.
  absl::StatusOr<merkle::Hash> RootAt(std::string_view field, uint64_t size);
  // Proves that entry `index` is in the tree of the first `size` entries. INVALID_ARGUMENT unless
  // index < size.
  absl::StatusOr<LeafProof> ProveInclusion(uint64_t index, uint64_t size);
  // Proves that the tree of the first `old_size` entries is a prefix of that of the first
  // `new_size`. INVALID_ARGUMENT unless old_size <= new_size.
  absl::StatusOr<PrefixProof> ProveConsistency(uint64_t old_size, uint64_t new_size);

  // Compares entries [first, ...) as they were read with the tiles; those beyond the checkpoint are
  // passed over.
  absl::Status Check(uint64_t first, const std::vector<std::string>& entries);

  // The resource at a C2SP tlog-tiles path below the log: "checkpoint", "tile/0/x001/234",
  // "tile/entries/000.p/5". Tiles of level 0 and entry bundles may have any width that the
  // checkpoint covers. INVALID_ARGUMENT for a malformed path; NOT_FOUND for a resource that the
  // checkpoint does not cover.
  absl::StatusOr<std::string> ReadPath(std::string_view path);

 private:
  // Read and verify.
  absl::StatusOr<std::vector<merkle::Hash>> ReadTile(const merkle::SizedTile& tile);
  absl::StatusOr<std::string> ReadBundle(const merkle::SizedTile& tile);
  absl::Status Damaged(std::string_view what) const;

  LedgerReader& store_;
  const std::string log_;
  const SignedCheckpoint signed_;
  LogTiles tiles_;
  merkle::NodeSource nodes_;
};

// A ledger's stored entries, read again and hashed. A notary does this before it signs, so that it
// detects a bit that changed after the append and does not sign it.

// Rebuilds the tree that was signed from its stored tiles. DATA_LOSS if they do not have the signed
// root.
absl::StatusOr<merkle::TileBuilder> ResumeSigned(CheckpointReader& store, const std::string& log,
                                                 const SignedCheckpoint& last);

// The same from the tiles of a tail; with the tail's entries.
absl::StatusOr<merkle::TileBuilder> ResumeTail(const Tail& tail, const SignedCheckpoint& last,
                                               const std::string& ledger);

// Adds the ledger's stored entries [tree.size(), point.size) to the tree, read a page at a time.
// DATA_LOSS if one is missing, or if the tree then does not have the point's root; errors of
// LedgerStore::Read.
absl::Status RehashTo(LedgerReader& store, const std::string& ledger, const LedgerPoint& point,
                      merkle::TileBuilder& tree);

// The points at every `step` entries after the end of `tree`, and finally `head`, whose root the
// append path computed independently. Errors of RehashTo. Memory: the tiles over `step` entries.
absl::StatusOr<std::vector<LedgerPoint>> Survey(LedgerReader& store, const std::string& ledger,
                                                const LedgerPoint& head, merkle::TileBuilder tree,
                                                uint64_t step);

}  // namespace dpledger
