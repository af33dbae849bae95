// The LedgerStore for one machine: a RocksDB folder, one server at a time.
//
// One thread commits: it takes all requests that wait, writes them as one batch, syncs, and
// answers. So the longer a sync takes, the more it carries. Bytes on disk: docs/formats.md,
// section 2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ledger_store/store.h"

namespace rocksdb {
class Env;
}

namespace dpledger {

struct EmbeddedOptions {
  std::string folder;  // made if there is none
  Clock* clock = Clock::System();
  // Requests waiting for the disk, in memory; more are RESOURCE_EXHAUSTED (reason QUEUE_FULL). 64
  // MiB are about a second's work.
  size_t max_pending_bytes = 64 << 20;
  rocksdb::Env* env = nullptr;  // RocksDB's way to the disk; null: the system's
};

// FAILED_PRECONDITION (STORE_IN_USE) if another server has the folder open; DATA_LOSS if what it
// holds is damaged or does not fit together; UNAVAILABLE for other errors of the disk. The store's
// destructor answers what is waiting.
absl::StatusOr<std::unique_ptr<LedgerStore>> OpenEmbeddedStore(const EmbeddedOptions& options);

}  // namespace dpledger
