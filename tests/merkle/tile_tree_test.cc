#include "merkle/tile_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "tests/merkle/reference_tree.h"

namespace dpledger::merkle {
namespace {

std::string Concatenated(ReferenceTree& tree, const SizedTile& tile) {
  std::string bytes;
  for (int i = 0; i < tile.width; ++i) {
    // MTH(D[(n * 256 + i) * 256^l : (n * 256 + i + 1) * 256^l]), as C2SP tlog-tiles defines it.
    const uint64_t leaves = uint64_t{1} << (8 * tile.id.level);
    const uint64_t first = (tile.id.index * 256 + static_cast<uint64_t>(i)) * leaves;
    bytes += ToBytes(tree.Root(first, first + leaves));
  }
  return bytes;
}

TEST(TileBuilder, YieldsTheTilesOfTheDefinition) {
  ReferenceTree tree(66000);
  TileBuilder builder;
  for (uint64_t i = 0; i < 66000; ++i) builder.Append(tree.Leaf(i));
  const std::map<TileId, std::string> changed = builder.TakeChanged();
  const std::vector<SizedTile> expected = ReferenceTiles(66000);
  ASSERT_EQ(changed.size(), expected.size());
  for (const SizedTile& tile : expected) {
    ASSERT_EQ(changed.at(tile.id), Concatenated(tree, tile))
        << TilePath(tile.id.level, tile.id.index, tile.width);
  }
  EXPECT_EQ(builder.Root(), tree.Root(66000));
  EXPECT_TRUE(builder.TakeChanged().empty());
}

TEST(TileBuilder, YieldsTheSameTilesWhateverTheSteps) {
  constexpr uint64_t kLeaves = 70000;  // tiles on three levels
  std::vector<Hash> leaves;
  for (uint64_t i = 0; i < kLeaves; ++i) leaves.push_back(LeafHash(absl::StrCat(i)));
  TileBuilder at_once;
  for (const Hash& leaf : leaves) at_once.Append(leaf);
  const std::map<TileId, std::string> expected = at_once.TakeChanged();

  std::mt19937_64 random(1);
  TilesInMemory stored;
  CompactTree compact;
  TileBuilder builder;
  while (builder.size() < kLeaves) {
    const uint64_t before = builder.size();
    if (random() % 2 == 0) {  // a restart
      stored.reads = 0;
      builder = TileBuilder::Resume(before, stored).value();
      ASSERT_LE(stored.reads, 3);
      ASSERT_EQ(builder.size(), before);
    }
    const uint64_t after = std::min(kLeaves, before + random() % 1200);
    for (uint64_t i = before; i < after; ++i) {
      builder.Append(leaves[i]);
      compact.Append(leaves[i]);
    }
    const std::map<TileId, std::string> changed = builder.TakeChanged();
    std::vector<SizedTile> sizes;
    for (const auto& [id, bytes] : changed) {
      sizes.push_back({id, static_cast<int>(bytes.size()) / kHashBytes});
    }
    const std::vector<SizedTile> had = ReferenceTiles(before);
    std::vector<SizedTile> grown;
    std::ranges::set_difference(ReferenceTiles(after), had, std::back_inserter(grown));
    ASSERT_EQ(sizes, grown);
    stored.Store(changed);
    ASSERT_EQ(builder.Root(), compact.Root());
  }
  EXPECT_EQ(stored.tiles, expected);
  EXPECT_EQ(RootOf(kLeaves, NodesOf(stored, kLeaves)).value(), at_once.Root());
}

TEST(TileBuilder, ResumesFromTilesThatHaveGrownSince) {
  ReferenceTree tree(1000);
  TilesInMemory stored;
  TileBuilder whole;
  for (uint64_t i = 0; i < 1000; ++i) whole.Append(tree.Leaf(i));
  stored.Store(whole.TakeChanged());
  for (uint64_t size = 0; size <= 1000; size += 7) {
    TileBuilder builder = TileBuilder::Resume(size, stored).value();
    ASSERT_EQ(builder.Root(), tree.Root(size));
    EXPECT_TRUE(builder.TakeChanged().empty());
    for (uint64_t i = size; i < 1000; ++i) builder.Append(tree.Leaf(i));
    ASSERT_EQ(builder.Root(), whole.Root());
    for (const auto& [id, bytes] : builder.TakeChanged()) ASSERT_EQ(bytes, stored.tiles.at(id));
  }
}

TEST(TileBuilder, DoesNotHideTilesThatWereChanged) {
  ReferenceTree tree(300);
  TilesInMemory stored;
  TileBuilder whole;
  for (uint64_t i = 0; i < 300; ++i) whole.Append(tree.Leaf(i));
  stored.Store(whole.TakeChanged());
  stored.tiles[{0, 1}][40] ^= 1;
  EXPECT_NE(TileBuilder::Resume(300, stored)->Root(), tree.Root(300));
}

class NodeAtTest : public ::testing::Test {
 protected:
  NodeAtTest() {
    TileBuilder builder;
    for (uint64_t i = 0; i < kLeaves; ++i) builder.Append(tree_.Leaf(i));
    stored_.Store(builder.TakeChanged());
  }
  static constexpr uint64_t kLeaves = 66000;
  ReferenceTree tree_ = ReferenceTree(kLeaves);
  TilesInMemory stored_;
};

TEST_F(NodeAtTest, IsTheRootOfEveryPerfectSubtree) {
  for (int level = 0; level <= 16; ++level) {
    const uint64_t count = kLeaves >> level;
    for (uint64_t index = 0; index < count; index += 1 + count / 100) {
      const auto node = NodesOf(stored_, kLeaves)(level, index);
      ASSERT_TRUE(node.ok()) << node.status();
      ASSERT_EQ(*node, tree_.Root(index << level, (index + 1) << level)) << level << " " << index;
    }
    ASSERT_TRUE(NodesOf(stored_, kLeaves)(level, count - 1).ok());
    const absl::Status outside = NodesOf(stored_, kLeaves)(level, count).status();
    EXPECT_EQ(outside.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(outside.message(), absl::StrCat("index: subtree ", count, " of level ", level,
                                              " is not in a tree of 66000 leaves"));
  }
  EXPECT_FALSE(NodesOf(stored_, kLeaves)(17, 0).ok());
  EXPECT_FALSE(NodesOf(stored_, kLeaves)(64, 0).ok());
  EXPECT_FALSE(NodesOf(stored_, kLeaves)(-1, 0).ok());
  EXPECT_EQ(NodesOf(stored_, kMaxTreeSize + 1)(0, 0).status().message(),
            "tree_size: must be at most 2^63 leaves, got 9223372036854775809");
}

TEST_F(NodeAtTest, GivesTheProofsOfTheDefinitionInFewReads) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200; ++i) {
    const uint64_t size = 1 + random() % kLeaves;
    const uint64_t index = random() % size;
    stored_.reads = 0;
    ASSERT_EQ(InclusionProof(index, size, NodesOf(stored_, size)).value(),
              tree_.Path(index, 0, size));
    ASSERT_LE(stored_.reads, 5);
    ASSERT_EQ(ConsistencyProof(index + 1, size, NodesOf(stored_, size)).value(),
              tree_.Subproof(index + 1, 0, size, true));
    ASSERT_EQ(RootOf(size, NodesOf(stored_, size)).value(), tree_.Root(size));
  }
}

TEST_F(NodeAtTest, KeepsABoundedNumberOfTiles) {
  const NodeSource nodes = NodesOf(stored_, kLeaves);
  for (int pass = 0; pass < 2; ++pass) {
    for (uint64_t index = 0; index < kLeaves; index += 256) {
      ASSERT_EQ(nodes(0, index).value(), tree_.Leaf(index));
    }
  }
  EXPECT_EQ(stored_.reads, 2 * 258);
}

TEST_F(NodeAtTest, RefusesTilesThatAreNoTiles) {
  const auto message = [&](std::string bytes) {
    stored_.tiles[{0, 257}] = std::move(bytes);
    const absl::Status status = NodesOf(stored_, kLeaves)(3, 8225).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(TileBuilder::Resume(kLeaves, stored_).status(), status);
    return std::string(status.message());
  };
  const std::string good = stored_.tiles[{0, 257}];
  const std::string rule = "tile/0/257.p/208: must have 208 to 256 hashes of 32 bytes, got ";
  EXPECT_EQ(message(""), rule + "0 bytes");
  EXPECT_EQ(message(good.substr(0, good.size() - 32)), rule + "6624 bytes");
  EXPECT_EQ(message(good + "x"), rule + "6657 bytes");
  EXPECT_EQ(message(std::string(257 * 32, 'x')), rule + "8224 bytes");
  stored_.tiles.erase({0, 257});
  EXPECT_EQ(NodesOf(stored_, kLeaves)(3, 8225).status(), absl::NotFoundError("tile/0/257"));
  EXPECT_EQ(TileBuilder::Resume(kLeaves, stored_).status(), absl::NotFoundError("tile/0/257"));
  EXPECT_EQ(TileBuilder::Resume(kMaxTreeSize + 1, stored_).status().message(),
            "size: must be at most 2^63 leaves, got 9223372036854775809");
}

}  // namespace
}  // namespace dpledger::merkle
