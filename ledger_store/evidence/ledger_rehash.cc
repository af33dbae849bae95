#include "ledger_store/evidence/ledger_rehash.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status.h"
#include "ledger_store/evidence/log_reader.h"
#include "merkle/compact_tree.h"

namespace dpledger {
namespace {

constexpr size_t kPageEntries = 10'000;

absl::Status Rehash(LedgerReader& store, const std::string& ledger, uint64_t end,
                    merkle::TileBuilder& tree) {
  while (tree.size() < end) {
    const size_t wanted = std::min<uint64_t>(kPageEntries, end - tree.size());
    ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                     ReadLog(store, ledger, tree.size(), wanted));
    if (entries.empty()) {
      return absl::DataLossError(absl::StrCat(ledger, ": entry ", tree.size(), " is missing"));
    }
    for (const std::string& entry : entries) tree.Append(merkle::LeafHash(entry));
  }
  return absl::OkStatus();
}

// Tiles that were read ahead.
class TailTiles : public merkle::TileReader {
 public:
  TailTiles(const std::map<merkle::TileId, std::string>& tiles, const std::string& log)
      : tiles_(tiles), log_(log) {}
  absl::StatusOr<std::string> ReadTile(const merkle::TileId& id, int width) override {
    const auto found = tiles_.find(id);
    if (found == tiles_.end()) return MissingTile(log_, id, width);
    return found->second;
  }

 private:
  const std::map<merkle::TileId, std::string>& tiles_;
  const std::string& log_;
};

absl::StatusOr<merkle::TileBuilder> Resume(merkle::TileReader& tiles,
                                           const SignedCheckpoint& last) {
  ASSIGN_OR_RETURN(merkle::TileBuilder tree,
                   merkle::TileBuilder::Resume(last.checkpoint.size, tiles));
  if (last.checkpoint.size == 0 || tree.Root() == last.checkpoint.root) return tree;
  return absl::DataLossError(absl::StrCat(last.checkpoint.origin,
                                          ": the stored tiles do not have the root that was signed "
                                          "at size ",
                                          last.checkpoint.size));
}

absl::Status CheckPoint(const merkle::TileBuilder& tree, const std::string& ledger,
                        const LedgerPoint& point) {
  const merkle::Hash root = tree.Root();
  if (tree.size() == point.size && root == point.root) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      ledger, ": its ", tree.size(), " stored entries hash to the root ",
      HexEncode(merkle::ToBytes(root)), ", but what was acknowledged at size ", point.size,
      " has the root ", HexEncode(merkle::ToBytes(point.root)), "; it will not be signed"));
}

}  // namespace

absl::StatusOr<merkle::TileBuilder> ResumeSigned(CheckpointReader& store, const std::string& log,
                                                 const SignedCheckpoint& last) {
  LogTiles tiles(store, log);
  return Resume(tiles, last);
}

absl::StatusOr<merkle::TileBuilder> RehashTail(const Tail& tail, const SignedCheckpoint& last,
                                               const std::string& ledger,
                                               const LedgerPoint& point) {
  RETURN_IF_ERROR(tail.status);
  TailTiles tiles(tail.tiles, ledger);
  ASSIGN_OR_RETURN(merkle::TileBuilder tree, Resume(tiles, last));
  for (const std::string& entry : tail.entries) tree.Append(merkle::LeafHash(entry));
  RETURN_IF_ERROR(CheckPoint(tree, ledger, point));
  return tree;
}

absl::Status RehashTo(LedgerReader& store, const std::string& ledger, const LedgerPoint& point,
                      merkle::TileBuilder& tree) {
  RETURN_IF_ERROR(Rehash(store, ledger, point.size, tree));
  return CheckPoint(tree, ledger, point);
}

absl::StatusOr<std::vector<LedgerPoint>> Survey(LedgerReader& store, const std::string& ledger,
                                                const LedgerPoint& head, merkle::TileBuilder tree,
                                                uint64_t step) {
  std::vector<LedgerPoint> points;
  while (tree.size() < head.size && head.size - tree.size() > step) {
    RETURN_IF_ERROR(Rehash(store, ledger, tree.size() + step, tree));
    tree.TakeChanged();
    points.push_back({tree.size(), tree.Root()});
  }
  RETURN_IF_ERROR(RehashTo(store, ledger, head, tree));
  points.push_back(head);
  return points;
}

}  // namespace dpledger
