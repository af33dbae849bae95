// A verifiable map from 32-byte keys to values: a binary trie over the keys' bits, the most
// significant bit of byte 0 first, in which a subtree of one key is that key's leaf.
// docs/formats.md, section "The map of heads", has the hashes; the shape follows the Verifiable
// Index of transparency-dev (vindex, 2026).
//
// Its root binds every key and value: a leaf's hash begins with another byte than a node's and
// holds the whole key, so that a leaf can stand in one place only, whatever its depth.
// A map is a value: a copy costs nothing, shares what is equal, and stays as it is.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "merkle/sha256.h"

namespace dpledger::merkle {

// SHA-256(0x02 ‖ key ‖ value).
Hash MapLeafHash(const Hash& key, std::string_view value);

// That a key has a value: the siblings on the way from its leaf to the root.
struct MapPath {
  std::vector<std::optional<Hash>> siblings;  // deepest first; at most 256; nothing: an empty place

  // depth (16 bits, big-endian) ‖ a bit for each sibling, deepest first, that says whether there is
  // one, the most significant first, zeros up to a whole byte ‖ those siblings.
  std::string ToBytes() const;
  // INVALID_ARGUMENT unless the bytes are the one spelling of a path.
  static absl::StatusOr<MapPath> Parse(std::string_view bytes);

  // The root of a map in which the leaf of `key` with this hash stands at the path's end.
  Hash RootFrom(const Hash& key, const Hash& leaf_hash) const;
};

class PrefixMap {
 public:
  PrefixMap() = default;

  // This map with these leaves (key, MapLeafHash) added, or in the place of those of the same keys.
  // O(keys given × depth) hashes.
  PrefixMap With(const std::map<Hash, Hash>& leaves) const;

  size_t size() const;
  // 32 zero bytes for the empty map.
  Hash Root() const;
  // Nothing if the map has no such key.
  std::optional<MapPath> Prove(const Hash& key) const;

 private:
  struct Node;
  using NodePtr = std::shared_ptr<const Node>;
  using Leaf = std::pair<Hash, Hash>;

  // Of leaves by key: the first whose bit at `depth` is set, and the hash of the node above them.
  static const Leaf* Middle(const Leaf* begin, const Leaf* end, int depth);
  static Hash HashOf(const Leaf* begin, const Leaf* end, int depth);
  static NodePtr Merge(const NodePtr& node, const Leaf* begin, const Leaf* end, int depth);

  NodePtr root_;
};

}  // namespace dpledger::merkle
