#include "merkle/compact_tree.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/hex.h"

namespace dpledger::merkle {
namespace {

std::string Bytes(std::string_view hex) { return HexDecode(hex).value(); }

// The leaves and roots by which Certificate Transparency logs are checked for RFC 6962.
const char* const kKnownLeaves[] = {"",
                                    "00",
                                    "10",
                                    "2021",
                                    "3031",
                                    "40414243",
                                    "5051525354555657",
                                    "606162636465666768696a6b6c6d6e6f"};
const char* const kKnownRoots[] = {
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};

// MTH as RFC 6962, section 2.1 writes it: split at the largest power of two below the number of
// leaves.
Hash RecursiveRoot(std::span<const std::string> leaves) {
  if (leaves.empty()) return Sha256({});
  if (leaves.size() == 1) return LeafHash(leaves[0]);
  size_t split = 1;
  while (split * 2 < leaves.size()) split *= 2;
  return NodeHash(RecursiveRoot(leaves.first(split)), RecursiveRoot(leaves.subspan(split)));
}

std::vector<std::string> NumberedLeaves(size_t count) {
  std::vector<std::string> leaves;
  for (size_t i = 0; i < count; ++i) leaves.push_back("leaf " + std::to_string(i));
  return leaves;
}

TEST(Sha256, MatchesTheStandardsExample) {
  EXPECT_EQ(HexEncode(ToBytes(Sha256({"a", "", "bc"}))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, ThreadsDoNotDisturbEachOther) {
  const std::string text(1000, 'x');
  const Hash expected = Sha256({text});
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int& count : wrong) {
    threads.emplace_back([&count, &text, &expected] {
      for (int i = 0; i < 2000; ++i) count += Sha256({text}) != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(CompactTree, MatchesKnownRoots) {
  CompactTree tree;
  for (size_t size = 0; size <= 8; ++size) {
    EXPECT_EQ(HexEncode(ToBytes(tree.Root())), kKnownRoots[size]) << size;
    if (size < 8) tree.Append(LeafHash(Bytes(kKnownLeaves[size])));
  }
}

TEST(CompactTree, MatchesTheRecursiveDefinition) {
  const std::vector<std::string> leaves = NumberedLeaves(300);
  CompactTree tree;
  for (size_t size = 0; size < leaves.size(); ++size) {
    ASSERT_EQ(tree.size(), size);
    ASSERT_EQ(tree.Root(), RecursiveRoot(std::span(leaves).first(size))) << size;
    tree.Append(LeafHash(leaves[size]));
  }
}

TEST(CompactTree, GoesOnFromItsFrontier) {
  const std::vector<std::string> leaves = NumberedLeaves(70);
  CompactTree whole;
  for (const std::string& leaf : leaves) {
    absl::StatusOr<CompactTree> copy =
        CompactTree::FromFrontier(whole.size(), whole.FrontierBytes());
    ASSERT_TRUE(copy.ok()) << copy.status();
    EXPECT_EQ(copy->Root(), whole.Root());
    whole.Append(LeafHash(leaf));
    copy->Append(LeafHash(leaf));
    EXPECT_EQ(copy->Root(), whole.Root());
    EXPECT_EQ(copy->size(), whole.size());
  }
}

TEST(CompactTree, RefusesAFrontierOfAnotherSize) {
  const absl::Status few = CompactTree::FromFrontier(3, View(Hash{})).status();
  EXPECT_EQ(few.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(few.message(), "frontier: a tree of 3 leaves has 2 subtrees, got 1");
  const absl::Status many = CompactTree::FromFrontier(0, View(Hash{})).status();
  EXPECT_EQ(many.message(), "frontier: a tree of 0 leaves has 0 subtrees, got 1");
  EXPECT_EQ(CompactTree::FromFrontier(1, "x").status().message(), "frontier is cut off");
  EXPECT_TRUE(CompactTree::FromFrontier(0, {}).ok());
}

}  // namespace
}  // namespace dpledger::merkle
