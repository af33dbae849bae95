#include "merkle/tile_tree.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/merkle/reference_tree.h"

namespace dpledger::merkle {
namespace {

TEST(TileBuilder, YieldsTheSameTilesWhateverTheSteps) {
  constexpr size_t kLeaves = 70000;  // the example of C2SP tlog-tiles, with tiles on three levels
  const std::vector<Hash> leaves = NumberedLeafHashes(kLeaves);
  TileBuilder at_once;
  for (const Hash& leaf : leaves) at_once.Append(leaf);
  const std::map<TileId, std::string> expected = at_once.TakeChanged();

  std::mt19937_64 random(1);
  TilesInMemory stored;
  size_t done = 0;
  while (done < kLeaves) {
    absl::StatusOr<TileBuilder> builder = TileBuilder::Resume(done, stored);
    ASSERT_TRUE(builder.ok()) << builder.status();
    ASSERT_EQ(builder->size(), done);
    const size_t step = std::min<size_t>(kLeaves - done, random() % 1200);
    for (size_t i = 0; i < step; ++i) builder->Append(leaves[done + i]);
    const std::map<TileId, std::string> changed = builder->TakeChanged();
    std::vector<SizedTile> sizes;
    for (const auto& [id, bytes] : changed) {
      sizes.push_back({id, static_cast<int>(bytes.size()) / kHashBytes});
    }
    ASSERT_EQ(sizes, TilesChanged(done, done + step));
    stored.Store(changed);
    done += step;
    ASSERT_EQ(builder->Root(), RootOf(done, NodesOf(stored, done)).value());
  }
  EXPECT_EQ(stored.tiles, expected);
  EXPECT_EQ(at_once.Root(), ReferenceRoot(leaves));
  EXPECT_EQ(expected.size(), 273u + 1 + 1 + 1 + 1);
}

}  // namespace
}  // namespace dpledger::merkle
