#include "merkle/proof.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "base/status.h"
#include "merkle/compact_tree.h"
#include "merkle/tile.h"

namespace dpledger::merkle {
namespace {

// The leaves begin..end-1, where begin is a multiple of the largest power of two in their number.
struct Range {
  uint64_t begin;
  uint64_t end;
};

// The point at which RFC 6962, section 2.1, splits a range of at least two leaves.
uint64_t SplitOf(const Range& range) {
  return range.begin + std::bit_floor(range.end - range.begin - 1);
}

// From the right: the perfect subtrees that the binary form of the number of leaves names.
absl::StatusOr<Hash> RangeRoot(const Range& range, const NodeSource& nodes) {
  std::optional<Hash> root;
  uint64_t end = range.end;
  for (uint64_t rest = range.end - range.begin; rest != 0; rest &= rest - 1) {
    const int level = std::countr_zero(rest);
    const uint64_t leaves = uint64_t{1} << level;
    end -= leaves;
    ASSIGN_OR_RETURN(const Hash node, nodes(level, end / leaves));
    root = root.has_value() ? NodeHash(node, *root) : node;
  }
  return root.value_or(EmptyRoot());
}

absl::StatusOr<std::vector<Hash>> Roots(const std::vector<Range>& ranges, const NodeSource& nodes) {
  std::vector<Hash> roots;
  roots.reserve(ranges.size());
  for (const Range& range : ranges) {
    ASSIGN_OR_RETURN(const Hash root, RangeRoot(range, nodes));
    roots.push_back(root);
  }
  return roots;
}

// RFC 6962, section 2.1.1: the siblings on the way up from a leaf.
std::vector<Range> InclusionRanges(uint64_t index, uint64_t size) {
  std::vector<Range> siblings;
  Range range{0, size};
  while (range.end - range.begin > 1) {
    const uint64_t split = SplitOf(range);
    if (index < split) {
      siblings.push_back({split, range.end});
      range.end = split;
    } else {
      siblings.push_back({range.begin, split});
      range.begin = split;
    }
  }
  std::reverse(siblings.begin(), siblings.end());
  return siblings;
}

// RFC 6962, section 2.1.2, SUBPROOF; none for an empty old tree.
std::vector<Range> ConsistencyRanges(uint64_t old_size, uint64_t new_size) {
  std::vector<Range> ranges;
  if (old_size == 0 || old_size == new_size) return ranges;
  Range range{0, new_size};
  while (range.end != old_size) {
    const uint64_t split = SplitOf(range);
    if (old_size <= split) {
      ranges.push_back({split, range.end});
      range.end = split;
    } else {
      ranges.push_back({range.begin, split});
      range.begin = split;
    }
  }
  // The verifier knows the root of the whole old tree.
  if (range.begin != 0) ranges.push_back(range);
  std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

absl::Status CheckSize(std::string_view field, uint64_t size) {
  if (size <= kMaxTreeSize) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be at most 2^63 leaves, got ", size));
}

absl::Status CheckIndex(uint64_t index, uint64_t size) {
  RETURN_IF_ERROR(CheckSize("size", size));
  if (index < size) return absl::OkStatus();
  return FieldError("index", absl::StrCat("must be below the tree's size ", size, ", got ", index));
}

absl::Status CheckSizes(uint64_t old_size, uint64_t new_size) {
  RETURN_IF_ERROR(CheckSize("new_size", new_size));
  if (old_size <= new_size) return absl::OkStatus();
  return FieldError("old_size",
                    absl::StrCat("must be at most the new size ", new_size, ", got ", old_size));
}

absl::Status CheckLength(std::span<const Hash> proof, size_t length) {
  if (proof.size() == length) return absl::OkStatus();
  return FieldError(
      "proof", absl::StrCat("must have ", length, " hashes for these sizes, got ", proof.size()));
}

absl::Status CheckRoot(std::string_view what, const Hash& root, const Hash& reached) {
  if (root == reached) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(ToAbsl(what), ": the proof leads to ",
                                          HexEncode(ToBytes(reached)), ", not to ",
                                          HexEncode(ToBytes(root))));
}

// Two paths up through a tree at once: that of the leaf `first` and that of the last leaf.
struct Climb {
  uint64_t first;
  uint64_t last;

  bool IsRightChild() const { return (first & 1) != 0; }
  bool HasNoSiblingBelowLast() const { return first == last; }
  void Up() {
    first >>= 1;
    last >>= 1;
  }
  // Past the levels on which the node is the last and a left child: it has no sibling there.
  void UpToARightChild() {
    while (first != 0 && !IsRightChild()) Up();
  }
};

}  // namespace

Hash EmptyRoot() { return Sha256({}); }

absl::StatusOr<Hash> RootOf(uint64_t size, const NodeSource& nodes) {
  RETURN_IF_ERROR(CheckSize("size", size));
  return RangeRoot({0, size}, nodes);
}

absl::StatusOr<std::vector<Hash>> InclusionProof(uint64_t index, uint64_t size,
                                                 const NodeSource& nodes) {
  RETURN_IF_ERROR(CheckIndex(index, size));
  return Roots(InclusionRanges(index, size), nodes);
}

absl::StatusOr<std::vector<Hash>> ConsistencyProof(uint64_t old_size, uint64_t new_size,
                                                   const NodeSource& nodes) {
  RETURN_IF_ERROR(CheckSizes(old_size, new_size));
  return Roots(ConsistencyRanges(old_size, new_size), nodes);
}

absl::Status VerifyInclusion(const Hash& leaf_hash, uint64_t index, uint64_t size, const Hash& root,
                             std::span<const Hash> proof) {
  RETURN_IF_ERROR(CheckIndex(index, size));
  RETURN_IF_ERROR(CheckLength(proof, InclusionRanges(index, size).size()));
  Climb climb{index, size - 1};
  Hash reached = leaf_hash;
  for (const Hash& sibling : proof) {
    if (climb.IsRightChild() || climb.HasNoSiblingBelowLast()) {
      reached = NodeHash(sibling, reached);
      climb.UpToARightChild();
    } else {
      reached = NodeHash(reached, sibling);
    }
    climb.Up();
  }
  return CheckRoot("root", root, reached);
}

absl::Status VerifyConsistency(uint64_t old_size, const Hash& old_root, uint64_t new_size,
                               const Hash& new_root, std::span<const Hash> proof) {
  RETURN_IF_ERROR(CheckSizes(old_size, new_size));
  RETURN_IF_ERROR(CheckLength(proof, ConsistencyRanges(old_size, new_size).size()));
  if (old_size == 0) {
    if (old_root != EmptyRoot()) {
      return absl::DataLossError("old_root: must be that of the empty tree, SHA-256 of nothing");
    }
    if (new_size == 0 && new_root != EmptyRoot()) {
      return absl::DataLossError("new_root: must be that of the empty tree, SHA-256 of nothing");
    }
    return absl::OkStatus();
  }
  if (old_size == new_size) {
    if (old_root == new_root) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("new_root: two trees of ", new_size, " leaves have different roots"));
  }
  Climb climb{old_size - 1, new_size - 1};
  while (climb.IsRightChild()) climb.Up();
  // A perfect old tree is a subtree of the new one, and the proof leaves its root out.
  const bool perfect = std::has_single_bit(old_size);
  const Hash& start = perfect ? old_root : proof.front();
  Hash old_reached = start;
  Hash new_reached = start;
  for (const Hash& sibling : proof.subspan(perfect ? 0 : 1)) {
    if (climb.IsRightChild() || climb.HasNoSiblingBelowLast()) {
      old_reached = NodeHash(sibling, old_reached);
      new_reached = NodeHash(sibling, new_reached);
      climb.UpToARightChild();
    } else {
      new_reached = NodeHash(new_reached, sibling);
    }
    climb.Up();
  }
  RETURN_IF_ERROR(CheckRoot("old_root", old_root, old_reached));
  return CheckRoot("new_root", new_root, new_reached);
}

}  // namespace dpledger::merkle
