// Proofs over RFC 6962 Merkle trees: that a leaf is in a tree (inclusion, RFC 6962 section 2.1.1)
// and that a tree is a prefix of a larger one (consistency, section 2.1.2). They are made from the
// roots of perfect subtrees, wherever those are stored, and verified as in RFC 9162, sections
// 2.1.3.2 and 2.1.4.2.
//
// 1. The sizes determine a proof's length (at most 64 hashes): a proof of another length is refused
//    before anything is hashed.
// 2. Sizes are at most 2^63 leaves.
// No I/O of its own. Thread safe as far as the node source is.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "merkle/sha256.h"

namespace dpledger::merkle {

// The root of the 2^level leaves from index * 2^level on. It is called only for subtrees whose
// leaves are all in the tree.
using NodeSource = std::function<absl::StatusOr<Hash>(int level, uint64_t index)>;

// The root of the empty tree: SHA-256 of nothing.
Hash EmptyRoot();

// The root of the first `size` leaves. INVALID_ARGUMENT if size > 2^63; errors of `nodes` as they
// are, here and below.
absl::StatusOr<Hash> RootOf(uint64_t size, const NodeSource& nodes);

// The hashes from the leaf's sibling up. INVALID_ARGUMENT unless index < size <= 2^63.
absl::StatusOr<std::vector<Hash>> InclusionProof(uint64_t index, uint64_t size,
                                                 const NodeSource& nodes);
// Empty if old_size is 0 or new_size, as C2SP tlog-witness requires. INVALID_ARGUMENT unless
// old_size <= new_size <= 2^63.
absl::StatusOr<std::vector<Hash>> ConsistencyProof(uint64_t old_size, uint64_t new_size,
                                                   const NodeSource& nodes);

// OK if the leaf is at `index` in the tree of this size and root. INVALID_ARGUMENT for an index
// outside the tree or a proof of the wrong length; DATA_LOSS if the proof leads to another root.
absl::Status VerifyInclusion(const Hash& leaf_hash, uint64_t index, uint64_t size, const Hash& root,
                             std::span<const Hash> proof);
// OK if the first old_size leaves of the new tree are those of the old one. INVALID_ARGUMENT for a
// new tree smaller than the old or a proof of the wrong length; DATA_LOSS if the proof leads to
// another old or new root, or if the root of an empty tree is not EmptyRoot().
absl::Status VerifyConsistency(uint64_t old_size, const Hash& old_root, uint64_t new_size,
                               const Hash& new_root, std::span<const Hash> proof);

}  // namespace dpledger::merkle
