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
#include "ledger_store/staging/engine_store.h"
#include "ledger_store/store.h"

namespace rocksdb {
class DB;
class Env;
}  // namespace rocksdb

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

namespace embedded {

// The embedded store without threads, over any database: a simulation decides when it commits and
// what the database makes of it. Everything but the threads is what OpenEmbeddedStore opens.
class SteppedStore : public EngineStore {
 public:
  // Commits the requests that wait as one group, and answers them: how many there were. Create,
  // Seal and Fork do so themselves.
  virtual size_t Step() = 0;
};

// `clock` must outlive the store; `kept` goes with it. The destructor drops what waits, as the end
// of a process does. Errors as of OpenEmbeddedStore, but for those of the folder.
absl::StatusOr<std::unique_ptr<SteppedStore>> OpenSteppedStore(
    std::unique_ptr<rocksdb::DB> db, Clock& clock, HeadKeys keys = {},
    std::shared_ptr<const void> kept = nullptr);

}  // namespace embedded

}  // namespace dpledger
