#include "merkle/prefix_map.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "merkle/big_endian.h"

namespace dpledger::merkle {
namespace {

constexpr int kKeyBits = 256;
constexpr std::string_view kLeafPrefix("\x02", 1), kNodePrefix("\x04", 1);

bool Bit(const Hash& key, int depth) {
  return ((key[static_cast<size_t>(depth / 8)] >> (7 - depth % 8)) & 1) != 0;
}

Hash MapNodeHash(const Hash& zero, const Hash& one) {
  return Sha256({kNodePrefix, View(zero), View(one)});
}

}  // namespace

// The hashes between a few leaves are made anew when they are asked for: 104 bytes of memory a
// leaf (of 10^4), where a node for each hash takes 294.
constexpr size_t kBucketLeaves = 8;

// A bucket has leaves, by key, and no children; another node has more than kBucketLeaves below it.
struct PrefixMap::Node {
  Hash hash;
  size_t leaves = 0;  // below it
  NodePtr children[2];
  std::vector<Leaf> bucket;
};

Hash MapLeafHash(const Hash& key, std::string_view value) {
  return Sha256({kLeafPrefix, View(key), value});
}

const PrefixMap::Leaf* PrefixMap::Middle(const Leaf* begin, const Leaf* end, int depth) {
  return std::partition_point(begin, end,
                              [depth](const Leaf& leaf) { return !Bit(leaf.first, depth); });
}

Hash PrefixMap::HashOf(const Leaf* begin, const Leaf* end, int depth) {
  if (begin == end) return Hash{};
  if (end - begin == 1) return begin->second;
  const Leaf* const middle = Middle(begin, end, depth);
  return MapNodeHash(HashOf(begin, middle, depth + 1), HashOf(middle, end, depth + 1));
}

PrefixMap::NodePtr PrefixMap::Merge(const NodePtr& node, const Leaf* begin, const Leaf* end,
                                    int depth) {
  if (begin == end) return node;
  if (node != nullptr && !node->bucket.empty()) {  // its leaves stand among the new ones
    std::vector<Leaf> leaves;
    std::set_union(begin, end, node->bucket.begin(), node->bucket.end(), std::back_inserter(leaves),
                   [](const Leaf& a, const Leaf& b) { return a.first < b.first; });
    return Merge(nullptr, leaves.data(), leaves.data() + leaves.size(), depth);
  }
  const auto count = static_cast<size_t>(end - begin);
  if (node == nullptr && count <= kBucketLeaves) {
    return std::make_shared<const Node>(
        Node{HashOf(begin, end, depth), count, {}, std::vector<Leaf>(begin, end)});
  }
  const Leaf* const middle = Middle(begin, end, depth);
  Node merged{};
  const NodePtr none;
  merged.children[0] = Merge(node == nullptr ? none : node->children[0], begin, middle, depth + 1);
  merged.children[1] = Merge(node == nullptr ? none : node->children[1], middle, end, depth + 1);
  Hash hashes[2] = {};
  for (const int side : {0, 1}) {
    if (merged.children[side] == nullptr) continue;
    merged.leaves += merged.children[side]->leaves;
    hashes[side] = merged.children[side]->hash;
  }
  merged.hash = MapNodeHash(hashes[0], hashes[1]);
  return std::make_shared<const Node>(std::move(merged));
}

PrefixMap PrefixMap::With(const std::map<Hash, Hash>& leaves) const {
  const std::vector<Leaf> sorted(leaves.begin(), leaves.end());
  PrefixMap with;
  with.root_ = Merge(root_, sorted.data(), sorted.data() + sorted.size(), 0);
  return with;
}

size_t PrefixMap::size() const { return root_ == nullptr ? 0 : root_->leaves; }

Hash PrefixMap::Root() const { return root_ == nullptr ? Hash{} : root_->hash; }

std::optional<MapPath> PrefixMap::Prove(const Hash& key) const {
  MapPath path;
  const Node* node = root_.get();
  int depth = 0;
  for (; node != nullptr && node->bucket.empty(); ++depth) {
    const bool side = Bit(key, depth);
    const Node* sibling = node->children[!side].get();
    path.siblings.push_back(sibling == nullptr ? std::nullopt : std::optional(sibling->hash));
    node = node->children[side].get();
  }
  if (node == nullptr) return std::nullopt;
  const Leaf* begin = node->bucket.data();
  const Leaf* end = begin + node->bucket.size();
  for (; end - begin > 1; ++depth) {
    const Leaf* const middle = Middle(begin, end, depth);
    const bool side = Bit(key, depth);
    const Hash sibling = side ? HashOf(begin, middle, depth + 1) : HashOf(middle, end, depth + 1);
    path.siblings.push_back(middle == (side ? begin : end) ? std::nullopt : std::optional(sibling));
    (side ? begin : end) = middle;
  }
  if (begin == end || begin->first != key) return std::nullopt;
  std::reverse(path.siblings.begin(), path.siblings.end());
  return path;
}

std::string MapPath::ToBytes() const {
  const size_t depth = siblings.size();
  std::string bytes = BigEndian(depth, 2);
  bytes.resize(2 + (depth + 7) / 8);
  for (size_t i = 0; i < depth; ++i) {
    if (!siblings[i].has_value()) continue;
    bytes[2 + i / 8] = static_cast<char>(bytes[2 + i / 8] | (0x80 >> (i % 8)));
    bytes += View(*siblings[i]);
  }
  return bytes;
}

absl::StatusOr<MapPath> MapPath::Parse(std::string_view bytes) {
  constexpr char kShape[] =
      "must be a depth of at most 256, a bit for each level, and a hash of 32 bytes for each bit";
  const auto refused = [](const char* why) { return absl::InvalidArgumentError(why); };
  if (bytes.size() < 2) return refused(kShape);
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const size_t depth = FromBigEndian(bytes.substr(0, 2)), bitmap = (depth + 7) / 8;
  if (depth > kKeyBits || bytes.size() < 2 + bitmap) return refused(kShape);
  MapPath path;
  std::string_view hashes = bytes.substr(2 + bitmap);
  for (size_t i = 0; i < bitmap * 8; ++i) {
    const bool set = ((byte(2 + i / 8) >> (7 - i % 8)) & 1) != 0;
    if (i >= depth) {
      if (set) return refused("must have no bits beyond its depth");
      continue;
    }
    std::optional<Hash>& sibling = path.siblings.emplace_back();
    if (!set) continue;
    sibling = HashFrom(hashes.substr(0, sizeof(Hash)));
    if (!sibling.has_value()) return refused(kShape);
    hashes.remove_prefix(sizeof(Hash));
    if (*sibling == Hash{}) return refused("must not spell out an empty place as a hash");
  }
  if (!hashes.empty()) return refused(kShape);
  // A subtree of one key is its leaf: the leaf would stand higher.
  if (depth > 0 && !path.siblings[0].has_value())
    return refused("must have a sibling at its deepest level");
  return path;
}

Hash MapPath::RootFrom(const Hash& key, const Hash& leaf_hash) const {
  Hash hash = leaf_hash;
  for (size_t i = 0; i < siblings.size(); ++i) {
    const Hash sibling = siblings[i].value_or(Hash{});
    hash = Bit(key, static_cast<int>(siblings.size() - 1 - i)) ? MapNodeHash(sibling, hash)
                                                               : MapNodeHash(hash, sibling);
  }
  return hash;
}

}  // namespace dpledger::merkle
