#include "merkle/proof.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/merkle/reference_tree.h"

namespace dpledger::merkle {
namespace {

TEST(RootOf, MatchesTheRecursiveDefinition) {
  const std::vector<Hash> leaves = NumberedLeafHashes(300);
  for (size_t size = 0; size <= leaves.size(); ++size) {
    const std::span<const Hash> tree = std::span(leaves).first(size);
    EXPECT_EQ(RootOf(size, NodesInMemory(tree)).value(), ReferenceRoot(tree)) << size;
  }
}

TEST(InclusionProof, IsThePathOfTheDefinitionAndVerifies) {
  const std::vector<Hash> leaves = NumberedLeafHashes(70);
  for (size_t size = 1; size <= leaves.size(); ++size) {
    const std::span<const Hash> tree = std::span(leaves).first(size);
    const Hash root = ReferenceRoot(tree);
    for (size_t index = 0; index < size; ++index) {
      const auto proof = InclusionProof(index, size, NodesInMemory(tree));
      ASSERT_TRUE(proof.ok()) << proof.status();
      ASSERT_EQ(*proof, ReferencePath(index, tree)) << index << " of " << size;
      ASSERT_TRUE(VerifyInclusion(leaves[index], index, size, root, *proof).ok());
    }
  }
}

TEST(ConsistencyProof, IsTheSubproofOfTheDefinitionAndVerifies) {
  const std::vector<Hash> leaves = NumberedLeafHashes(70);
  std::vector<Hash> roots;
  for (size_t size = 0; size <= leaves.size(); ++size) {
    roots.push_back(ReferenceRoot(std::span(leaves).first(size)));
  }
  for (size_t new_size = 1; new_size <= leaves.size(); ++new_size) {
    const std::span<const Hash> tree = std::span(leaves).first(new_size);
    for (size_t old_size = 1; old_size <= new_size; ++old_size) {
      const auto proof = ConsistencyProof(old_size, new_size, NodesInMemory(tree));
      ASSERT_TRUE(proof.ok()) << proof.status();
      ASSERT_EQ(*proof, ReferenceSubproof(old_size, tree, true)) << old_size << " " << new_size;
      const absl::Status verified =
          VerifyConsistency(old_size, roots[old_size], new_size, roots[new_size], *proof);
      ASSERT_TRUE(verified.ok()) << verified;
    }
  }
}

}  // namespace
}  // namespace dpledger::merkle
