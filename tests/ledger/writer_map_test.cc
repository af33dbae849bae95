#include "ledger/writer_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace dpledger {
namespace {

v1::WriterStatus Writer(const std::string& name, uint64_t entries, bool closed = false) {
  v1::WriterStatus writer;
  writer.set_writer(name);
  writer.set_entry_count(entries);
  writer.set_closed(closed);
  return writer;
}

std::vector<std::string> TextOf(const WriterMap& map, WriterMap::Iterator from) {
  std::vector<std::string> text;
  for (; from != map.end(); ++from) text.push_back((*from).ShortDebugString());
  return text;
}

TEST(WriterMap, IsAMapByName) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::map<std::string, v1::WriterStatus> expected;
    // Made at once in half of the rounds, and filled up.
    if (round % 2 == 1) {
      for (int i = 0; i < 7 * round; ++i) {
        const std::string name = absl::StrCat(random() % 500);
        expected[name] = Writer(name, 1);
      }
    }
    WriterMap map(expected);
    for (int i = 0; i < 400; ++i) {
      const std::string name = i == 7 ? "" : absl::StrCat(random() % 500);
      const v1::WriterStatus writer = Writer(name, random() % 9, random() % 2 == 0);
      map.Put(writer);
      expected[name] = writer;
    }
    std::vector<std::string> all;
    size_t open = 0;
    for (const auto& [name, writer] : expected) {
      all.push_back(writer.ShortDebugString());
      open += writer.closed() ? 0 : 1;
      ASSERT_TRUE(map.Find(name).has_value());
      EXPECT_EQ(map.Find(name)->ShortDebugString(), all.back());
    }
    EXPECT_EQ(TextOf(map, map.begin()), all);
    EXPECT_EQ(map.size(), expected.size());
    EXPECT_EQ(map.open(), open);
    EXPECT_FALSE(map.Find("none").has_value());
    for (int i = 0; i < 60; ++i) {
      const std::string from = absl::StrCat(random() % 500, i % 2 == 0 ? "" : "-");
      const auto bound = expected.lower_bound(from);
      const auto skipped = std::distance(expected.begin(), bound);
      EXPECT_EQ(TextOf(map, map.LowerBound(from)),
                std::vector<std::string>(all.begin() + skipped, all.end()));
    }
  }
  EXPECT_TRUE(TextOf({}, WriterMap().begin()).empty());
}

TEST(WriterMap, CopiesAreIndependent) {
  WriterMap map;
  for (int i = 0; i < 100; ++i) map.Put(Writer(absl::StrCat("w", i), 1));
  const WriterMap before = map;
  map.Put(Writer("w7", 2));
  map.Put(Writer("new", 1));
  EXPECT_EQ(before.size(), 100u);
  EXPECT_EQ(before.Find("w7")->entry_count(), 1u);
  EXPECT_EQ(map.Find("w7")->entry_count(), 2u);
  for (int i = 0; i < 100; ++i) {
    const std::string name = absl::StrCat("w", i);
    EXPECT_EQ(map.Find(name)->entry_count(), i == 7 ? 2u : 1u) << name;
    EXPECT_EQ(before.Find(name)->entry_count(), 1u) << name;
  }
}

// Writers choose their names: a tree that grew to one side would overflow the stack here.
TEST(WriterMap, StaysBalancedWhateverTheOrder) {
  constexpr int kWriters = 200'000;
  for (const bool rising : {true, false}) {
    WriterMap map;
    for (int i = 0; i < kWriters; ++i) {
      map.Put(Writer(absl::StrFormat("%06d", rising ? i : kWriters - i), 1));
    }
    EXPECT_EQ(map.size(), static_cast<size_t>(kWriters));
  }
}

}  // namespace
}  // namespace dpledger
