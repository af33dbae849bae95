#include "merkle/tile.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "tests/merkle/mutations.h"
#include "tests/merkle/reference_tree.h"

namespace dpledger::merkle {
namespace {

TEST(TilePath, IsWrittenAsTheDocumentSays) {
  EXPECT_EQ(TilePath(0, 1234067, 256), "tile/0/x001/x234/067");  // the document's example
  EXPECT_EQ(TilePath(0, 1234, 5), "tile/0/x001/234.p/5");
  EXPECT_EQ(TilePath(63, 0, 1), "tile/63/000.p/1");
  EXPECT_EQ(TilePath(1, 999, 255), "tile/1/999.p/255");
  EXPECT_EQ(TilePath(1, 1000, 256), "tile/1/x001/000");
  EXPECT_EQ(TilePath(7, ~uint64_t{0}, 256), "tile/7/x018/x446/x744/x073/x709/x551/615");
  EXPECT_EQ(EntriesPath(1234067, 256), "tile/entries/x001/x234/067");
  EXPECT_EQ(EntriesPath(0, 17), "tile/entries/000.p/17");
}

TEST(ParseTilePath, ReadsWhatIsWritten) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t index = random() >> (random() % 64);
    const int level = static_cast<int>(random() % 64);
    const int width = 1 + static_cast<int>(random() % 256);
    const auto tile = ParseTilePath(TilePath(level, index, width));
    ASSERT_TRUE(tile.ok()) << tile.status();
    EXPECT_FALSE(tile->entries);
    EXPECT_EQ(tile->tile, (SizedTile{{level, index}, width}));
    const auto entries = ParseTilePath(EntriesPath(index, width));
    ASSERT_TRUE(entries.ok()) << entries.status();
    EXPECT_TRUE(entries->entries);
    EXPECT_EQ(entries->tile, (SizedTile{{0, index}, width}));
  }
}

TEST(ParseTilePath, RefusesOtherSpellings) {
  for (const char* path : {"",
                           "tile",
                           "tile/",
                           "tile/0",
                           "tile/0/",
                           "/tile/0/000",
                           "tile/0/000/",
                           "tile/00/000",
                           "tile/64/000",
                           "tile/-1/000",
                           "tile/+1/000",
                           "tile/1 /000",
                           "tile/0/0",
                           "tile/0/00",
                           "tile/0/0000",
                           "tile/0/x000/001",
                           "tile/0/x001",
                           "tile/0/x001/x234",
                           "tile/0/001/234",
                           "tile/0/x1/234",
                           "tile/0/x001/1000",
                           "tile/0/x0001/234",
                           "tile/0/X001/234",
                           "tile/0/x001//234",
                           "tile/0/000.p",
                           "tile/0/000.p/",
                           "tile/0/000.p/0",
                           "tile/0/000.p/256",
                           "tile/0/000.p/01",
                           "tile/0/000.p/1/",
                           "tile/0/000.p/-1",
                           "tile/0/000.p/1 ",
                           "tile/0/000p/1",
                           "tile/0/x018/x446/x744/x073/x709/x551/616",
                           "tile/0/x001/x000/x000/x000/x000/x000/x000/000",
                           "tile/entries",
                           "tile/entries/",
                           "tile/entries/1",
                           "tile/Entries/001",
                           "tile/0/entries/001",
                           "tile/0/../000"}) {
    const absl::Status status = ParseTilePath(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_EQ(status.message(),
              "path: must be tile/<level>/<index> or tile/entries/<index>, as C2SP tlog-tiles "
              "spells them");
  }
}

TEST(ParseTilePath, HasOneSpellingUnderMutations) {
  for (const std::string& path : {TilePath(12, 1234067, 96), EntriesPath(1234, 256)}) {
    const int accepted =
        ExpectOneSpelling(path, [](std::string_view text) -> std::optional<std::string> {
          const auto parsed = ParseTilePath(text);
          if (!parsed.ok()) return {};
          const SizedTile& tile = parsed->tile;
          return parsed->entries ? EntriesPath(tile.id.index, tile.width)
                                 : TilePath(tile.id.level, tile.id.index, tile.width);
        });
    EXPECT_GT(accepted, 10);
  }
}

TEST(TileWidthIn, MatchesTheDocument) {
  // "273 full level 0 tiles, one partial level 0 tile of width 112, one full level 1 tile, one
  // partial level 1 tile of width 17, and one partial level 2 tile of width 1"
  EXPECT_EQ(TileWidthIn(70000, {1, 0}), 256);
  EXPECT_EQ(TileWidthIn(70000, {1, 1}), 17);
  EXPECT_EQ(TileWidthIn(70000, {2, 0}), 1);
  EXPECT_EQ(TileWidthIn(kMaxTreeSize, {7, 0}), 128);
  for (const uint64_t size : {0, 1, 255, 256, 257, 1500, 65535, 65536, 65537, 131072, 200000}) {
    for (const SizedTile& tile : ReferenceTiles(size)) {
      ASSERT_EQ(TileWidthIn(size, tile.id), tile.width) << size;
    }
  }
}

TEST(TileWidthIn, IsZeroOutsideTheTree) {
  EXPECT_EQ(TileWidthIn(70000, {0, 272}), 256);
  EXPECT_EQ(TileWidthIn(70000, {0, 273}), 112);
  EXPECT_EQ(TileWidthIn(70000, {0, 274}), 0);
  EXPECT_EQ(TileWidthIn(70000, {3, 0}), 0);
  EXPECT_EQ(TileWidthIn(kMaxTreeSize, {63, 0}), 0);
  EXPECT_EQ(TileWidthIn(256, {0, 1}), 0);
}

TEST(EntryBundle, PutsTheLengthBeforeEveryEntry) {
  const std::vector<std::string> entries = {"ab", "", std::string(kMaxEntryBytes, 'x')};
  const std::string bundle = EncodeEntryBundle(entries).value();
  EXPECT_EQ(bundle, std::string("\x00\x02"
                                "ab\x00\x00\xff\xff",
                                8) +
                        entries[2]);
  EXPECT_EQ(DecodeEntryBundle(bundle, 3).value(),
            std::vector<std::string_view>(entries.begin(), entries.end()));
  // Of a bundle that has grown since, what was there.
  EXPECT_EQ(DecodeEntryBundle(bundle, 2).value(), (std::vector<std::string_view>{"ab", ""}));
}

TEST(EntryBundle, SaysWhatIsWrong) {
  const auto message = [](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message(EncodeEntryBundle({}).status()), "entries: must be 1..256 in a bundle, got 0");
  EXPECT_EQ(message(EncodeEntryBundle(std::vector<std::string>(257)).status()),
            "entries: must be 1..256 in a bundle, got 257");
  EXPECT_EQ(
      message(EncodeEntryBundle(std::vector<std::string>{"", std::string(65536, 'x')}).status()),
      "entries[1]: must be at most 65535 bytes, got 65536");
  const std::string bundle = EncodeEntryBundle(std::vector<std::string>{"abc", "d"}).value();
  EXPECT_EQ(message(DecodeEntryBundle(bundle, 0).status()), "count: must be 1..256, got 0");
  EXPECT_EQ(message(DecodeEntryBundle(bundle, 257).status()), "count: must be 1..256, got 257");
  EXPECT_EQ(message(DecodeEntryBundle(bundle, 3).status()), "bundle: must have 3 entries, got 2");
  for (size_t length = 0; length < bundle.size(); ++length) {
    const absl::Status status = DecodeEntryBundle(bundle.substr(0, length), 2).status();
    const bool whole = length == 0 || length == 5;
    EXPECT_EQ(message(status), whole ? absl::StrCat("bundle: must have 2 entries, got ", length / 5)
                                     : absl::StrCat("bundle: ends within entry ", length / 5));
  }
  EXPECT_EQ(message(DecodeEntryBundle(bundle + "x", 2).status()), "bundle: ends within entry 2");
  EXPECT_EQ(message(DecodeEntryBundle(std::string(2 * 257, '\0'), 3).status()),
            "bundle: must have at most 256 entries");
}

TEST(EntryBundle, HasOneSpellingUnderMutations) {
  const std::vector<std::string> entries = {"first", "", "third entry"};
  const std::string bundle = EncodeEntryBundle(entries).value();
  const int accepted =
      ExpectOneSpelling(bundle, [](std::string_view bytes) -> std::optional<std::string> {
        std::optional<std::string> again;
        for (int count = 1; count <= kTileWidth; ++count) {
          const auto parts = DecodeEntryBundle(bytes, count);
          if (!parts.ok()) break;
          again = EncodeEntryBundle(std::vector<std::string>(parts->begin(), parts->end())).value();
        }
        return again;
      });
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace dpledger::merkle
