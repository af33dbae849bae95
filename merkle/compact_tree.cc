#include "merkle/compact_tree.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"

namespace dpledger::merkle {
namespace {

// RFC 6962, section 2.1: the prefixes keep a leaf from passing for a node.
constexpr std::string_view kLeafPrefix("\x00", 1);
constexpr std::string_view kNodePrefix("\x01", 1);

std::string_view View(const Hash& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

}  // namespace

Hash LeafHash(std::string_view leaf) { return Sha256({kLeafPrefix, leaf}); }

Hash NodeHash(const Hash& left, const Hash& right) {
  return Sha256({kNodePrefix, View(left), View(right)});
}

absl::StatusOr<CompactTree> CompactTree::FromFrontier(uint64_t size, std::vector<Hash> frontier) {
  const auto subtrees = static_cast<size_t>(std::popcount(size));
  if (frontier.size() != subtrees) {
    return absl::InvalidArgumentError(absl::StrCat("frontier: a tree of ", size, " leaves has ",
                                                   subtrees, " subtrees, got ", frontier.size()));
  }
  CompactTree tree;
  tree.size_ = size;
  tree.frontier_ = std::move(frontier);
  return tree;
}

void CompactTree::Append(const Hash& leaf_hash) {
  Hash subtree = leaf_hash;
  // As a carry in binary addition: every trailing one of the size is a subtree as large as the one
  // in hand.
  for (uint64_t ones = size_; (ones & 1) != 0; ones >>= 1) {
    subtree = NodeHash(frontier_.back(), subtree);
    frontier_.pop_back();
  }
  frontier_.push_back(subtree);
  ++size_;
}

Hash CompactTree::Root() const {
  if (frontier_.empty()) return Sha256({});
  Hash root = frontier_.back();
  for (size_t i = frontier_.size() - 1; i-- > 0;) root = NodeHash(frontier_[i], root);
  return root;
}

std::string ToBytes(const Hash& hash) { return std::string(View(hash)); }

}  // namespace dpledger::merkle
