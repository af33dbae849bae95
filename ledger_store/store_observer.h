// Hears what a store makes durable: for metrics.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace dpledger {

// Requests that became durable together.
struct CommittedGroup {
  size_t requests = 0;   // those that were refused included
  uint64_t entries = 0;  // added to ledgers
  uint64_t ledgers = 0;  // that the group made
  absl::Duration took;   // what the disk or the database took
};

// Thread safe, and quick: the next group waits for it.
class StoreObserver {
 public:
  virtual ~StoreObserver() = default;
  virtual void OnGroup(const CommittedGroup& group) = 0;
};

}  // namespace dpledger
