// The LedgerStore for one machine: a RocksDB folder, one server at a time.
//
// One thread commits: it takes all requests that wait, writes them as one batch, and syncs; then
// they are answered. So the longer a sync takes, the more requests share the next one. Bytes on
// disk: docs/formats.md, section 2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ledger/stored_head.h"
#include "ledger_store/store.h"

namespace rocksdb {
class Env;
}

namespace dpledger {

struct EmbeddedOptions {
  std::string folder;  // made if there is none
  Clock* clock = Clock::System();
  // Memory of the requests that wait for the disk. Further requests are RESOURCE_EXHAUSTED (reason
  // QUEUE_FULL). 64 MiB are about a second's work.
  size_t max_pending_bytes = 64 << 20;
  rocksdb::Env* env = nullptr;  // RocksDB's access to the disk; null: the system's
  // A server's are always given. Without a current one the store reads, and takes nothing where
  // heads have authenticators.
  HeadKeys keys = {};
};

// FAILED_PRECONDITION (STORE_IN_USE) if another server has the folder open; DATA_LOSS if its
// records are damaged, inconsistent or not authentic; UNAVAILABLE for other errors of the disk. The
// store's destructor answers the requests that wait.
absl::StatusOr<std::unique_ptr<LedgerStore>> OpenEmbeddedStore(const EmbeddedOptions& options);

}  // namespace dpledger
