#include "ledger_store/evidence/registrations.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger {
namespace {

constexpr int kLevel = 8;  // a tree of 2^63 leaves has tiles of levels 0 to 7
constexpr uint64_t kBlock = 256, kIndexBytes = 8;

void AppendIndex(uint64_t index, std::string& block) {
  for (int shift = 56; shift >= 0; shift -= 8) block.push_back(static_cast<char>(index >> shift));
}

uint64_t IndexAt(std::string_view block, uint64_t place) {
  uint64_t index = 0;
  for (const char byte : block.substr(place * kIndexBytes, kIndexBytes))
    index = index << 8 | static_cast<unsigned char>(byte);
  return index;
}

absl::Status Damaged(const std::string& ledger, uint64_t point) {
  return absl::DataLossError(absl::StrCat(ledger, ": the place of its registration ", point,
                                          " in the registry is missing or wrong"));
}

}  // namespace

merkle::TileId RegistrationsTile(uint64_t point) { return {kLevel, point / kBlock}; }

absl::StatusOr<std::string> WithRegistration(const std::string& ledger, const registry::Head& last,
                                             std::string stored, uint64_t index) {
  const uint64_t before = last.points % kBlock;
  // It is longer if another signer has published meanwhile; then the store refuses this one.
  stored.resize(std::min(stored.size(), before * kIndexBytes));
  if (before > 0 &&
      (stored.size() < before * kIndexBytes || IndexAt(stored, before - 1) != last.last.index)) {
    return Damaged(ledger, last.points - 1);
  }
  AppendIndex(index, stored);
  return stored;
}

absl::StatusOr<std::vector<uint64_t>> ReadRegistrations(CheckpointReader& store,
                                                        const std::string& ledger, uint64_t first,
                                                        uint64_t end) {
  std::vector<uint64_t> indices;
  while (first < end) {
    const absl::StatusOr<std::string> block = store.ReadTile(ledger, RegistrationsTile(first));
    if (absl::IsNotFound(block.status())) return Damaged(ledger, first);
    RETURN_IF_ERROR(block.status());
    const uint64_t until = std::min(end, first - first % kBlock + kBlock);
    for (; first < until; ++first) {
      const uint64_t place = first % kBlock;
      if (block->size() < (place + 1) * kIndexBytes) return Damaged(ledger, first);
      indices.push_back(IndexAt(*block, place));
      if (indices.size() > 1 && indices.back() <= indices[indices.size() - 2])
        return Damaged(ledger, first);
    }
  }
  return indices;
}

absl::StatusOr<uint64_t> CountRegistrations(CheckpointReader& store, const std::string& ledger,
                                            uint64_t points, uint64_t index) {
  uint64_t low = 0, high = points;  // those before `low` are below, those from `high` on are not
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const uint64_t first = middle - middle % kBlock;
    const uint64_t end = std::min(points, first + kBlock);
    ASSIGN_OR_RETURN(const std::vector<uint64_t> of, ReadRegistrations(store, ledger, first, end));
    const auto found = std::lower_bound(of.begin(), of.end(), index);
    const uint64_t below = first + static_cast<uint64_t>(found - of.begin());
    if (below > first) low = std::max(low, below);
    if (below < end) high = std::min(high, below);
  }
  return low;
}

}  // namespace dpledger
