#include "merkle/tile.h"

#include <cctype>
#include <charconv>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "merkle/big_endian.h"

namespace dpledger::merkle {
namespace {

constexpr int kMaxTileLevel = 63;
// "tile/entries/", seven groups of the 20 digits of 2^64 - 1, ".p/255".
constexpr size_t kMaxPathBytes = 64;

// How many hashes of this tile level a tree has.
uint64_t HashesAt(uint64_t size, int tile_level) {
  const int shift = tile_level * kTileHeight;
  return shift < 64 ? size >> shift : 0;
}

std::string IndexPath(uint64_t index) {
  std::string path = absl::StrCat(absl::Dec(index % 1000, absl::kZeroPad3));
  for (index /= 1000; index != 0; index /= 1000) {
    path = absl::StrCat("x", absl::Dec(index % 1000, absl::kZeroPad3), "/", path);
  }
  return path;
}

std::string WithWidth(std::string path, int width) {
  if (width < kTileWidth) absl::StrAppend(&path, ".p/", width);
  return path;
}

// Takes a decimal number from the front of `text`; false if there is none or it is too large.
template <typename Number>
bool TakeNumber(std::string_view& text, Number& number) {
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Takes x001/x234/067 from the front, whatever the number of digits in a group: the caller compares
// with the one spelling there is.
bool TakeIndex(std::string_view& text, uint64_t& index) {
  index = 0;
  while (true) {
    const bool more = TakePrefix(text, "x");
    uint64_t group = 0;
    if (!TakeNumber(text, group) || group > 999) return false;
    if (index > (std::numeric_limits<uint64_t>::max() - group) / 1000) return false;
    index = index * 1000 + group;
    if (!more) return true;
    if (!TakePrefix(text, "/")) return false;
  }
}

bool ParseAnySpelling(std::string_view path, ParsedTilePath& parsed) {
  if (path.size() > kMaxPathBytes || !TakePrefix(path, "tile/")) return false;
  if (TakePrefix(path, "entries/")) {
    parsed.entries = true;
  } else if (!TakeNumber(path, parsed.tile.id.level) || parsed.tile.id.level > kMaxTileLevel ||
             !TakePrefix(path, "/")) {
    return false;
  }
  if (!TakeIndex(path, parsed.tile.id.index)) return false;
  parsed.tile.width = kTileWidth;
  if (path.empty()) return true;
  return TakePrefix(path, ".p/") && TakeNumber(path, parsed.tile.width) && path.empty() &&
         parsed.tile.width >= 1 && parsed.tile.width < kTileWidth;
}

}  // namespace

int TileWidthIn(uint64_t size, const TileId& id) {
  const uint64_t hashes = HashesAt(size, id.level);
  const uint64_t full = hashes / kTileWidth;
  if (id.index < full) return kTileWidth;
  return id.index == full ? static_cast<int>(hashes % kTileWidth) : 0;
}

std::string TilePath(int level, uint64_t index, int width) {
  return WithWidth(absl::StrCat("tile/", level, "/", IndexPath(index)), width);
}

std::string EntriesPath(uint64_t index, int width) {
  return WithWidth(absl::StrCat("tile/entries/", IndexPath(index)), width);
}

absl::StatusOr<ParsedTilePath> ParseTilePath(std::string_view path) {
  ParsedTilePath parsed;
  if (ParseAnySpelling(path, parsed)) {
    const SizedTile& tile = parsed.tile;
    const std::string canonical = parsed.entries
                                      ? EntriesPath(tile.id.index, tile.width)
                                      : TilePath(tile.id.level, tile.id.index, tile.width);
    if (path == canonical) return parsed;
  }
  return FieldError("path",
                    "must be tile/<level>/<index> or tile/entries/<index>, as C2SP "
                    "tlog-tiles spells them");
}

absl::StatusOr<std::string> EncodeEntryBundle(std::span<const std::string> entries) {
  if (entries.empty() || entries.size() > kTileWidth) {
    return FieldError("entries", absl::StrCat("must be 1..256 in a bundle, got ", entries.size()));
  }
  size_t bytes = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].size() > kMaxEntryBytes) {
      return FieldError(
          absl::StrCat("entries[", i, "]"),
          absl::StrCat("must be at most ", kMaxEntryBytes, " bytes, got ", entries[i].size()));
    }
    bytes += 2 + entries[i].size();
  }
  std::string bundle;
  bundle.reserve(bytes);
  for (const std::string& entry : entries) {
    bundle.append(BigEndian(entry.size(), 2)).append(entry);
  }
  return bundle;
}

absl::StatusOr<std::vector<std::string_view>> DecodeEntryBundle(std::string_view bytes, int count) {
  if (count < 1 || count > kTileWidth) {
    return FieldError("count", absl::StrCat("must be 1..256, got ", count));
  }
  std::vector<std::string_view> entries;
  entries.reserve(static_cast<size_t>(count));
  size_t stored = 0;
  for (std::string_view rest = bytes; !rest.empty(); ++stored) {
    const size_t length = FromBigEndian(rest.substr(0, 2));
    if (rest.size() < 2 || rest.size() - 2 < length) {
      return FieldError("bundle", absl::StrCat("ends within entry ", stored));
    }
    if (stored == kTileWidth) return FieldError("bundle", "must have at most 256 entries");
    if (stored < static_cast<size_t>(count)) entries.push_back(rest.substr(2, length));
    rest.remove_prefix(2 + length);
  }
  if (stored < static_cast<size_t>(count)) {
    return FieldError("bundle", absl::StrCat("must have ", count, " entries, got ", stored));
  }
  return entries;
}

}  // namespace dpledger::merkle
