#include "ledger_store/evidence/tails_ahead.h"

#include <algorithm>
#include <utility>

namespace dpledger {
namespace {

// At a time: 64 MB at most, for an entry has 64 KB at most; mostly a tenth of one.
constexpr size_t kMostLedgers = 256;
constexpr uint64_t kMostEntries = 1024;
// Of one ledger. What is more takes a read of its own.
constexpr uint64_t kShort = 64;

bool IsShort(const TailRange& range) {
  return range.size > range.signed_size && range.size - range.signed_size <= kShort;
}

}  // namespace

absl::StatusOr<const Tail*> TailsAhead::At(size_t i) {
  if (!IsShort(ranges_[i])) return nullptr;
  if (i >= end_) {
    read_.clear();
    std::vector<TailRange> wanted;
    uint64_t entries = 0;
    for (end_ = i; end_ < ranges_.size() && wanted.size() < kMostLedgers; ++end_) {
      const TailRange& range = ranges_[end_];
      if (!IsShort(range)) continue;
      if (entries + range.size - range.signed_size > kMostEntries) break;
      entries += range.size - range.signed_size;
      wanted.push_back(range);
      read_.push_back(&range);
    }
    absl::StatusOr<std::vector<Tail>> tails = store_.ReadTails(wanted);
    if (!tails.ok()) return tails.status();
    tails_ = *std::move(tails);
  }
  const auto found = std::find(read_.begin(), read_.end(), &ranges_[i]);
  return &tails_.at(static_cast<size_t>(found - read_.begin()));
}

}  // namespace dpledger
