#include "merkle/compact_tree.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace dpledger::merkle {
namespace {

// RFC 6962, section 2.1: the prefixes keep a leaf from passing for a node.
constexpr std::string_view kLeafPrefix("\x00", 1);
constexpr std::string_view kNodePrefix("\x01", 1);

}  // namespace

Hash LeafHash(std::string_view leaf) { return Sha256({kLeafPrefix, leaf}); }

Hash NodeHash(const Hash& left, const Hash& right) {
  return Sha256({kNodePrefix, View(left), View(right)});
}

absl::StatusOr<CompactTree> CompactTree::FromFrontier(uint64_t size, std::string_view frontier) {
  const auto subtrees = static_cast<size_t>(std::popcount(size));
  CompactTree tree;
  if (frontier.size() % sizeof(Hash) != 0) {
    return absl::InvalidArgumentError("frontier is cut off");
  }
  if (frontier.size() / sizeof(Hash) != subtrees) {
    return absl::InvalidArgumentError(absl::StrCat("frontier: a tree of ", size, " leaves has ",
                                                   subtrees, " subtrees, got ",
                                                   frontier.size() / sizeof(Hash)));
  }
  tree.size_ = size;
  tree.frontier_.resize(subtrees);
  if (subtrees > 0) std::memcpy(tree.frontier_.data(), frontier.data(), frontier.size());
  return tree;
}

std::string CompactTree::FrontierBytes() const {
  return std::string(reinterpret_cast<const char*>(frontier_.data()),
                     frontier_.size() * sizeof(Hash));
}

Hash CompactTree::Root() const {
  if (frontier_.empty()) return Sha256({});
  Hash root = frontier_.back();
  for (size_t i = frontier_.size() - 1; i-- > 0;) root = NodeHash(frontier_[i], root);
  return root;
}

std::string ToBytes(const Hash& hash) { return std::string(View(hash)); }

}  // namespace dpledger::merkle
