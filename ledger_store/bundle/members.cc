#include "ledger_store/bundle/members.h"

namespace dpledger::bundle {
namespace {

using merkle::kTileWidth;
using merkle::TileId;
using merkle::TileWidthIn;

constexpr int kTopLevel = 63 / merkle::kTileHeight;

}  // namespace

std::string TreeMember::Path() const {
  return entries ? merkle::EntriesPath(tile.id.index, tile.width)
                 : merkle::TilePath(tile.id.level, tile.id.index, tile.width);
}

std::optional<TreeMember> TreeMembers::Next() {
  if (next_tile_.has_value()) {
    const TileId id = *next_tile_;
    next_tile_.reset();
    // A tile that is full may be the last that the tile above it needs.
    if (TileWidthIn(size_, id) == kTileWidth && id.index % kTileWidth == kTileWidth - 1) {
      next_tile_ = TileId{id.level + 1, id.index / kTileWidth};
    }
    return TreeMember{false, {id, TileWidthIn(size_, id)}};
  }
  const TileId leaves{0, next_entries_};
  if (const int width = TileWidthIn(size_, leaves); width > 0) {
    ++next_entries_;
    next_tile_ = leaves;
    return TreeMember{true, {leaves, width}};
  }
  while (edge_level_ <= kTopLevel) {
    const int level = edge_level_++;
    const TileId edge{level, size_ >> (merkle::kTileHeight * (level + 1) - 1) >> 1};
    const int width = TileWidthIn(size_, edge);
    if (width > 0) return TreeMember{false, {edge, width}};
  }
  return {};
}

}  // namespace dpledger::bundle
