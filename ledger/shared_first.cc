#include "ledger/shared_first.h"

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace dpledger {
namespace {

// Bounds: each place keeps one entry and its bytes, some 3 MB if all are of the longest.
constexpr size_t kPlaces = 1024;
constexpr size_t kMostBytes = 1024;

class KeptEntries {
 public:
  std::shared_ptr<const v1::LedgerEntry> Equal(v1::LedgerEntry first) {
    std::string bytes = first.SerializeAsString();
    if (bytes.size() > kMostBytes) {
      return std::make_shared<const v1::LedgerEntry>(std::move(first));
    }
    const size_t at = std::hash<std::string>()(bytes) % kPlaces;
    absl::MutexLock lock(&mutex_);
    Place& place = places_[at];
    if (place.entry == nullptr || place.bytes != bytes) {
      place.entry = std::make_shared<const v1::LedgerEntry>(std::move(first));
      place.bytes = std::move(bytes);
    }
    return place.entry;
  }

 private:
  struct Place {
    std::string bytes;
    std::shared_ptr<const v1::LedgerEntry> entry;
  };
  absl::Mutex mutex_;
  std::array<Place, kPlaces> places_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<const v1::LedgerEntry> SharedFirst(v1::LedgerEntry first) {
  static KeptEntries& kept = *new KeptEntries;
  return kept.Equal(std::move(first));
}

}  // namespace dpledger
