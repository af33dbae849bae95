// A snapshot of a store that is open: its files of one moment, without stopping it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "ledger_store/embedded/synced_record.h"
#include "rocksdb/db.h"

namespace dpledger::embedded {

// Makes `folder`, which must not be there, hold a store with every write that was synced before the
// call. Tables are hard links where the folder is on the database's volume; the logs are copied, at
// most 256 MiB (rocksdb_options.h). `synced` was read before the call: the snapshot's own synced
// record. On an error `folder` is gone. A full disk fails the snapshot, and not the database:
// nothing is flushed. Errors as DiskError.
absl::Status MakeSnapshot(rocksdb::DB& db, const SyncedPoint& synced, const std::string& folder);

}  // namespace dpledger::embedded
