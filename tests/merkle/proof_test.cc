#include "merkle/proof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/hex.h"
#include "merkle/tile.h"
#include "tests/merkle/reference_tree.h"

namespace dpledger::merkle {
namespace {

constexpr uint64_t kLargest = uint64_t{1} << 63;

Hash FlipBit(Hash hash, size_t bit) {
  hash[bit / 8] = static_cast<uint8_t>(hash[bit / 8] ^ (1 << bit % 8));
  return hash;
}

Hash FromHex(std::string_view hex) {
  const std::string bytes = HexDecode(hex).value();
  Hash hash;
  std::copy_n(bytes.begin(), hash.size(), hash.begin());
  return hash;
}

// Sizes at which something changes: near powers of two and of 256, and any.
std::vector<uint64_t> LargeSizes(std::mt19937_64& random) {
  std::vector<uint64_t> sizes = {kLargest, kLargest - 1, kLargest / 2 + 1};
  for (int level = 9; level < 63; level += 6) {
    for (const uint64_t off : {-1, 0, 1}) sizes.push_back((uint64_t{1} << level) + off);
    sizes.push_back((random() >> (63 - level)) + 1);
  }
  return sizes;
}

// The proofs by which Certificate Transparency's verifiers are checked, over its eight leaves.
TEST(Verify, TakesTheProofsOfCertificateTransparency) {
  const Hash root5 = FromHex("4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4");
  const Hash root6 = FromHex("76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef");
  const Hash root8 = FromHex("5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
  const Hash root4 = FromHex("d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7");
  const Hash leaf1 = FromHex("96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7");
  const Hash node23 = FromHex("5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e");
  const Hash node4567 = FromHex("6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4");
  const Hash leaf4 = FromHex("bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b");
  const Hash node67 = FromHex("ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0");
  const Hash node45 = FromHex("0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a");
  const Hash leaf0 = FromHex("6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  const Hash root2 = FromHex("fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125");

  EXPECT_TRUE(VerifyInclusion(LeafHash(""), 0, 8, root8, {{leaf1, node23, node4567}}).ok());
  EXPECT_TRUE(VerifyInclusion(LeafHash("@ABC"), 5, 8, root8, {{leaf4, node67, root4}}).ok());
  EXPECT_TRUE(
      VerifyInclusion(LeafHash("\x10"), 2, 3,
                      FromHex("aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
                      {{root2}})
          .ok());
  EXPECT_TRUE(VerifyConsistency(1, leaf0, 8, root8, {{leaf1, node23, node4567}}).ok());
  EXPECT_TRUE(VerifyConsistency(6, root6, 8, root8, {{node45, node67, root4}}).ok());
  EXPECT_TRUE(VerifyConsistency(2, root2, 5, root5, {{node23, leaf4}}).ok());
}

TEST(RootOf, MatchesTheRecursiveDefinition) {
  ReferenceTree tree(300);
  for (uint64_t size = 0; size <= 300; ++size) {
    EXPECT_EQ(RootOf(size, tree.Nodes(size)).value(), tree.Root(size)) << size;
  }
  EXPECT_EQ(RootOf(kLargest + 1, tree.Nodes(kLargest)).status().message(),
            "size: must be at most 2^63 leaves, got 9223372036854775809");
}

TEST(InclusionProof, IsThePathOfTheDefinitionAndVerifies) {
  ReferenceTree tree(300);
  for (uint64_t size = 1; size <= 300; ++size) {
    for (uint64_t index = 0; index < size; ++index) {
      const auto proof = InclusionProof(index, size, tree.Nodes(size));
      ASSERT_TRUE(proof.ok()) << proof.status();
      ASSERT_EQ(*proof, tree.Path(index, 0, size)) << index << " of " << size;
      if (size > 150 && size != 257) continue;  // the rest is as the path was
      ASSERT_TRUE(VerifyInclusion(tree.Leaf(index), index, size, tree.Root(size), *proof).ok());
    }
  }
}

TEST(ConsistencyProof, IsTheSubproofOfTheDefinitionAndVerifies) {
  ReferenceTree tree(300);
  for (uint64_t new_size = 1; new_size <= 300; ++new_size) {
    for (uint64_t old_size = 1; old_size <= new_size; ++old_size) {
      const auto proof = ConsistencyProof(old_size, new_size, tree.Nodes(new_size));
      ASSERT_TRUE(proof.ok()) << proof.status();
      ASSERT_EQ(*proof, tree.Subproof(old_size, 0, new_size, true))
          << old_size << " of " << new_size;
      if (new_size > 150 && new_size != 257) continue;
      const absl::Status verified =
          VerifyConsistency(old_size, tree.Root(old_size), new_size, tree.Root(new_size), *proof);
      ASSERT_TRUE(verified.ok()) << verified;
    }
  }
}

TEST(Proofs, HoldForLargeTrees) {
  std::mt19937_64 random(3);
  for (const uint64_t size : LargeSizes(random)) {
    ReferenceTree tree(10);
    for (int i = 0; i < 6; ++i) tree.SetLeaf(random() % size);
    const Hash root = tree.Root(size);
    ASSERT_EQ(RootOf(size, tree.Nodes(size)).value(), root);
    for (const uint64_t index : {uint64_t{3}, random() % size, size - 1}) {
      const auto proof = InclusionProof(index, size, tree.Nodes(size));
      ASSERT_TRUE(proof.ok()) << proof.status();
      ASSERT_EQ(*proof, tree.Path(index, 0, size));
      ASSERT_TRUE(VerifyInclusion(tree.Leaf(index), index, size, root, *proof).ok());
      ASSERT_EQ(VerifyInclusion(LeafHash("other"), index, size, root, *proof).code(),
                absl::StatusCode::kDataLoss);
      const size_t changed = random() % proof->size();
      std::vector<Hash> wrong = *proof;
      wrong[changed] = FlipBit(wrong[changed], random() % 256);
      ASSERT_EQ(VerifyInclusion(tree.Leaf(index), index, size, root, wrong).code(),
                absl::StatusCode::kDataLoss);

      const uint64_t old_size = index + 1;
      const auto consistent = ConsistencyProof(old_size, size, tree.Nodes(size));
      ASSERT_TRUE(consistent.ok()) << consistent.status();
      ASSERT_EQ(*consistent, tree.Subproof(old_size, 0, size, true));
      ASSERT_LE(consistent->size(), 64u);
      ASSERT_TRUE(VerifyConsistency(old_size, tree.Root(old_size), size, root, *consistent).ok());
    }
  }
}

TEST(VerifyInclusion, RefusesEveryFlippedBit) {
  for (const uint64_t size : {2, 7, 13}) {
    ReferenceTree tree(size);
    const Hash root = tree.Root(size);
    for (uint64_t index = 0; index < size; ++index) {
      const std::vector<Hash> proof = tree.Path(index, 0, size);
      for (size_t bit = 0; bit < 256; ++bit) {
        for (size_t i = 0; i < proof.size(); ++i) {
          std::vector<Hash> wrong = proof;
          wrong[i] = FlipBit(wrong[i], bit);
          ASSERT_EQ(VerifyInclusion(tree.Leaf(index), index, size, root, wrong).code(),
                    absl::StatusCode::kDataLoss);
        }
        ASSERT_FALSE(
            VerifyInclusion(FlipBit(tree.Leaf(index), bit), index, size, root, proof).ok());
        ASSERT_FALSE(
            VerifyInclusion(tree.Leaf(index), index, size, FlipBit(root, bit), proof).ok());
      }
    }
  }
}

TEST(VerifyInclusion, RefusesOtherPlacesSizesAndLengths) {
  ReferenceTree tree(40);
  for (uint64_t size = 1; size <= 40; ++size) {
    for (uint64_t index = 0; index < size; ++index) {
      const std::vector<Hash> proof = tree.Path(index, 0, size);
      const Hash leaf = tree.Leaf(index);
      for (uint64_t other = 0; other <= size; ++other) {
        if (other == index) continue;
        ASSERT_FALSE(VerifyInclusion(leaf, other, size, tree.Root(size), proof).ok());
      }
      for (uint64_t other = 0; other <= 40; ++other) {
        if (other == size) continue;
        ASSERT_FALSE(VerifyInclusion(leaf, index, other, tree.Root(other), proof).ok());
      }
      std::vector<Hash> length = proof;
      length.push_back(Hash{});
      ASSERT_EQ(VerifyInclusion(leaf, index, size, tree.Root(size), length).code(),
                absl::StatusCode::kInvalidArgument);
      if (proof.empty()) continue;
      length.resize(proof.size() - 1);
      ASSERT_EQ(VerifyInclusion(leaf, index, size, tree.Root(size), length).code(),
                absl::StatusCode::kInvalidArgument);
    }
  }
}

TEST(VerifyInclusion, SaysWhatDoesNotFit) {
  ReferenceTree tree(5);
  const std::vector<Hash> proof = tree.Path(1, 0, 5);
  const Hash root = tree.Root(5);
  EXPECT_EQ(VerifyInclusion(tree.Leaf(1), 5, 5, root, proof).message(),
            "index: must be below the tree's size 5, got 5");
  EXPECT_EQ(VerifyInclusion(tree.Leaf(1), 0, 0, root, {}).message(),
            "index: must be below the tree's size 0, got 0");
  EXPECT_EQ(VerifyInclusion(tree.Leaf(1), 0, kLargest + 1, root, proof).message(),
            "size: must be at most 2^63 leaves, got 9223372036854775809");
  EXPECT_EQ(VerifyInclusion(tree.Leaf(1), 1, 5, root, {}).message(),
            "proof: must have 3 hashes for these sizes, got 0");
  EXPECT_EQ(VerifyInclusion(tree.Leaf(1), 1, 5, root, std::vector<Hash>(100000)).message(),
            "proof: must have 3 hashes for these sizes, got 100000");
  EXPECT_EQ(VerifyInclusion(root, 0, 1, tree.Leaf(1), {}).message(),
            absl::StrCat("root: the proof leads to ", HexEncode(ToBytes(root)), ", not to ",
                         HexEncode(ToBytes(tree.Leaf(1)))));
}

TEST(VerifyConsistency, RefusesEveryFlippedBit) {
  ReferenceTree tree(13);
  for (const auto& [old_size, new_size] :
       {std::pair<uint64_t, uint64_t>{1, 2}, {3, 7}, {4, 7}, {6, 13}, {8, 13}, {12, 13}}) {
    const std::vector<Hash> proof = tree.Subproof(old_size, 0, new_size, true);
    const Hash old_root = tree.Root(old_size), new_root = tree.Root(new_size);
    for (size_t bit = 0; bit < 256; ++bit) {
      for (size_t i = 0; i < proof.size(); ++i) {
        std::vector<Hash> wrong = proof;
        wrong[i] = FlipBit(wrong[i], bit);
        ASSERT_EQ(VerifyConsistency(old_size, old_root, new_size, new_root, wrong).code(),
                  absl::StatusCode::kDataLoss);
      }
      ASSERT_FALSE(
          VerifyConsistency(old_size, FlipBit(old_root, bit), new_size, new_root, proof).ok());
      ASSERT_FALSE(
          VerifyConsistency(old_size, old_root, new_size, FlipBit(new_root, bit), proof).ok());
    }
  }
}

TEST(VerifyConsistency, RefusesOtherSizesAndLengths) {
  ReferenceTree tree(24);
  for (uint64_t new_size = 1; new_size <= 24; ++new_size) {
    for (uint64_t old_size = 1; old_size <= new_size; ++old_size) {
      const std::vector<Hash> proof = tree.Subproof(old_size, 0, new_size, true);
      for (uint64_t other = 1; other <= 24; ++other) {
        if (other != old_size && other != new_size) {
          ASSERT_FALSE(
              VerifyConsistency(other, tree.Root(other), new_size, tree.Root(new_size), proof)
                  .ok());
          ASSERT_FALSE(
              VerifyConsistency(old_size, tree.Root(old_size), other, tree.Root(other), proof)
                  .ok());
        }
      }
      std::vector<Hash> length = proof;
      length.push_back(Hash{});
      ASSERT_EQ(
          VerifyConsistency(old_size, tree.Root(old_size), new_size, tree.Root(new_size), length)
              .code(),
          absl::StatusCode::kInvalidArgument);
      if (proof.empty()) continue;
      length.resize(proof.size() - 1);
      ASSERT_EQ(
          VerifyConsistency(old_size, tree.Root(old_size), new_size, tree.Root(new_size), length)
              .code(),
          absl::StatusCode::kInvalidArgument);
    }
  }
}

TEST(VerifyConsistency, RefusesAHistoryThatWasChanged) {
  ReferenceTree tree(20);
  for (uint64_t old_size = 5; old_size < 20; ++old_size) {
    // The same but for the fourth leaf.
    ReferenceTree forged(3);
    for (uint64_t i = 4; i < 20; ++i) forged.SetLeaf(i);
    ASSERT_EQ(VerifyConsistency(old_size, tree.Root(old_size), 20, forged.Root(20),
                                forged.Subproof(old_size, 0, 20, true))
                  .code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST(VerifyConsistency, TreatsNoLeavesAndNoGrowthAsWitnessesDo) {
  ReferenceTree tree(5);
  const Hash root = tree.Root(5);
  EXPECT_TRUE(ConsistencyProof(0, 5, tree.Nodes(5))->empty());
  EXPECT_TRUE(ConsistencyProof(5, 5, tree.Nodes(5))->empty());
  EXPECT_TRUE(ConsistencyProof(0, 0, tree.Nodes(0))->empty());
  EXPECT_TRUE(VerifyConsistency(0, EmptyRoot(), 5, root, {}).ok());
  EXPECT_TRUE(VerifyConsistency(0, EmptyRoot(), 0, EmptyRoot(), {}).ok());
  EXPECT_TRUE(VerifyConsistency(5, root, 5, root, {}).ok());

  EXPECT_EQ(VerifyConsistency(0, EmptyRoot(), 5, root, {{root}}).message(),
            "proof: must have 0 hashes for these sizes, got 1");
  EXPECT_EQ(VerifyConsistency(0, root, 5, root, {}).message(),
            "old_root: must be that of the empty tree, SHA-256 of nothing");
  EXPECT_EQ(VerifyConsistency(0, EmptyRoot(), 0, root, {}).message(),
            "new_root: must be that of the empty tree, SHA-256 of nothing");
  EXPECT_EQ(VerifyConsistency(5, root, 5, tree.Root(4), {}).message(),
            "new_root: two trees of 5 leaves have different roots");
  EXPECT_EQ(VerifyConsistency(5, root, 4, tree.Root(4), {}).message(),
            "old_size: must be at most the new size 4, got 5");
  EXPECT_EQ(ConsistencyProof(5, 4, tree.Nodes(4)).status().message(),
            "old_size: must be at most the new size 4, got 5");
  EXPECT_EQ(VerifyConsistency(5, root, kLargest + 1, root, {}).message(),
            "new_size: must be at most 2^63 leaves, got 9223372036854775809");
}

TEST(Proofs, PassOnWhatTheNodeSourceSays) {
  const NodeSource broken = [](int, uint64_t) { return absl::UnavailableError("disk"); };
  EXPECT_EQ(RootOf(3, broken).status(), absl::UnavailableError("disk"));
  EXPECT_EQ(InclusionProof(1, 3, broken).status(), absl::UnavailableError("disk"));
  EXPECT_EQ(ConsistencyProof(1, 3, broken).status(), absl::UnavailableError("disk"));
}

}  // namespace
}  // namespace dpledger::merkle
