#include "merkle/prefix_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "merkle/compact_tree.h"

namespace dpledger::merkle {
namespace {

using Leaves = std::map<Hash, Hash>;

// docs/formats.md as it is written, recursive over all leaves below a prefix.
Hash ReferenceRoot(const Leaves& leaves, int depth = 0) {
  if (leaves.empty()) return {};
  if (leaves.size() == 1) return leaves.begin()->second;
  Leaves sides[2];
  for (const auto& [key, leaf] : leaves)
    sides[key[static_cast<size_t>(depth / 8)] >> (7 - depth % 8) & 1][key] = leaf;
  return Sha256({std::string("\x04", 1), ToBytes(ReferenceRoot(sides[0], depth + 1)),
                 ToBytes(ReferenceRoot(sides[1], depth + 1))});
}

// Keys that share long beginnings too: `spread` of 32 bytes are random.
Leaves RandomLeaves(std::mt19937& random, size_t count, size_t spread) {
  Leaves leaves;
  while (leaves.size() < count) {
    Hash key = {};
    for (size_t i = 32 - spread; i < 32; ++i) key[i] = static_cast<uint8_t>(random());
    leaves[key] = MapLeafHash(key, absl::StrCat(random()));
  }
  return leaves;
}

PrefixMap MapOf(const Leaves& leaves) { return PrefixMap().With(leaves); }

TEST(PrefixMap, HasTheDocumentsRootHoweverItGrew) {
  std::mt19937 random(1);
  for (const size_t spread : {32, 2, 1}) {
    const Leaves all = RandomLeaves(random, 200, spread);
    Leaves so_far;
    PrefixMap one_by_one, in_batches;
    Leaves batch;
    for (const auto& [key, leaf] : all) {
      const Hash old = MapLeafHash(key, "an older value");
      one_by_one = one_by_one.With({{key, random() % 2 == 0 ? old : leaf}}).With({{key, leaf}});
      so_far[key] = leaf;
      batch[key] = leaf;
      EXPECT_EQ(one_by_one.Root(), ReferenceRoot(so_far));
      EXPECT_EQ(one_by_one.size(), so_far.size());
      if (random() % 10 == 0) {
        in_batches = in_batches.With(batch);
        EXPECT_EQ(in_batches.Root(), ReferenceRoot(so_far));
        batch.clear();
      }
    }
    EXPECT_EQ(MapOf(all).Root(), ReferenceRoot(all));
  }
  EXPECT_EQ(PrefixMap().Root(), Hash{});
}

TEST(PrefixMap, EarlierMapsStayAsTheyAre) {
  std::mt19937 random(2);
  const Leaves leaves = RandomLeaves(random, 50, 32);
  const PrefixMap before = MapOf(leaves);
  const PrefixMap after = before.With({{leaves.begin()->first, Hash{1}}});
  EXPECT_EQ(before.Root(), ReferenceRoot(leaves));
  EXPECT_NE(after.Root(), before.Root());
  EXPECT_EQ(before.With({}).Root(), before.Root());
}

TEST(PrefixMap, ProvesEveryKeyAndNothingElse) {
  std::mt19937 random(3);
  for (const size_t spread : {32, 1}) {
    const Leaves leaves = RandomLeaves(random, 100, spread);
    const PrefixMap map = MapOf(leaves);
    for (const auto& [key, leaf] : leaves) {
      const auto path = map.Prove(key);
      ASSERT_TRUE(path.has_value());
      EXPECT_EQ(path->RootFrom(key, leaf), map.Root());
      const auto read = MapPath::Parse(path->ToBytes());
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(read->siblings, path->siblings);
      EXPECT_NE(path->RootFrom(key, MapLeafHash(key, "another value")), map.Root());
      Hash other = key;
      other[0] ^= 0x80;
      EXPECT_NE(path->RootFrom(other, leaf), map.Root()) << "the leaf's place is not bound";
    }
    Hash absent = leaves.begin()->first;
    absent[31] ^= 1;
    EXPECT_EQ(map.Prove(absent).has_value(), leaves.count(absent) == 1);
  }
  EXPECT_FALSE(PrefixMap().Prove(Hash{}).has_value());
}

TEST(MapPath, HasOneSpelling) {
  Leaves leaves;
  Hash key = {};
  for (const int last : {0, 1, 4}) {
    key[31] = static_cast<uint8_t>(last);
    leaves[key] = MapLeafHash(key, "value");
  }
  key = {};
  const PrefixMap map = MapOf(leaves);
  const std::string bytes = map.Prove(key)->ToBytes();
  ASSERT_EQ(bytes.size(), 2u + 32 + 2 * 32);  // 256 levels, two siblings
  ASSERT_TRUE(MapPath::Parse(bytes).ok());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(MapPath::Parse(bytes.substr(0, size)).ok()) << size;
  EXPECT_FALSE(MapPath::Parse(bytes + "x").ok());
  // Whatever is accepted is what is written of it: no flip gives a second spelling of this path.
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string flipped = bytes;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << i % 8));
    const auto path = MapPath::Parse(flipped);
    if (!path.ok()) continue;
    EXPECT_EQ(path->ToBytes(), flipped);
    EXPECT_NE(path->RootFrom(key, leaves[key]), map.Root());
  }
  EXPECT_FALSE(MapPath::Parse(std::string("\x00\x01\x00", 3)).ok()) << "the deepest is empty";
  EXPECT_FALSE(MapPath::Parse(std::string("\x00\x01\x80", 3) + std::string(32, '\0')).ok())
      << "an empty place spelt out";
  EXPECT_FALSE(MapPath::Parse(std::string("\x00\x01\xc0", 3) + std::string(64, 'x')).ok())
      << "bits beyond the depth";
  EXPECT_FALSE(MapPath::Parse(std::string("\x01\x01", 2) + std::string(33, '\xff') +
                              std::string(257 * 32, 'x'))
                   .ok())
      << "257 levels";
}

}  // namespace
}  // namespace dpledger::merkle
