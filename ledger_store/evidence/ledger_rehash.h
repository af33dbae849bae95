// Reads a ledger's stored entries again and hashes them. A notary does this before it signs, so
// that it detects a bit that changed after the append and does not sign it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ledger_store/evidence/registry.h"
#include "ledger_store/store.h"
#include "merkle/tile_tree.h"

namespace dpledger {

// Rebuilds the tree that was signed from its stored tiles. DATA_LOSS if they do not have the signed
// root.
absl::StatusOr<merkle::TileBuilder> ResumeSigned(CheckpointReader& store, const std::string& log,
                                                 const SignedCheckpoint& last);

// The same from what was read ahead: its tiles, then its entries. `point` is where they end.
absl::StatusOr<merkle::TileBuilder> RehashTail(const Tail& tail, const SignedCheckpoint& last,
                                               const std::string& ledger, const LedgerPoint& point);

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
