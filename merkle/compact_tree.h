// The RFC 6962 Merkle tree of an append-only list, kept as its frontier: the roots of its perfect
// subtrees, one for each 1 bit of its size, largest first. Appending is O(1) amortised, the root
// O(log n), the state at most 64 hashes. SHA-256; hashes are 32 bytes. No I/O. Not thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "merkle/sha256.h"

namespace dpledger::merkle {

// SHA-256(0x00 ‖ leaf) and SHA-256(0x01 ‖ left ‖ right): RFC 6962, section 2.1.
Hash LeafHash(std::string_view leaf);
Hash NodeHash(const Hash& left, const Hash& right);

class CompactTree {
 public:
  CompactTree() = default;
  // The tree of `size` leaves with this frontier, as FrontierBytes. INVALID_ARGUMENT unless it has
  // as many hashes as `size` has 1 bits.
  static absl::StatusOr<CompactTree> FromFrontier(uint64_t size, std::string_view frontier);

  void Append(const Hash& leaf_hash) {
    Append(leaf_hash, [](size_t, const Hash&) {});
  }
  // Calls completed(level, root) for each perfect subtree that the leaf completes, the leaf itself
  // first, while size() is still the old one.
  template <typename Completed>
  void Append(const Hash& leaf_hash, const Completed& completed) {
    Hash subtree = leaf_hash;
    size_t level = 0;
    completed(level, subtree);
    // As a carry in binary addition: every trailing one of the size is a subtree as large as the
    // one in hand.
    for (uint64_t ones = size_; (ones & 1) != 0; ones >>= 1) {
      subtree = NodeHash(frontier_.back(), subtree);
      frontier_.pop_back();
      completed(++level, subtree);
    }
    frontier_.push_back(subtree);
    ++size_;
  }

  uint64_t size() const { return size_; }
  const std::vector<Hash>& frontier() const { return frontier_; }
  // Its hashes one after the other.
  std::string FrontierBytes() const;
  // SHA-256 of the empty string for the empty tree.
  Hash Root() const;
  // Whether both have the same leaves; much cheaper than to compare roots.
  bool operator==(const CompactTree&) const = default;

 private:
  uint64_t size_ = 0;
  std::vector<Hash> frontier_;  // largest subtree first
};

// The 32 bytes as a string, for messages and files.
std::string ToBytes(const Hash& hash);

}  // namespace dpledger::merkle
